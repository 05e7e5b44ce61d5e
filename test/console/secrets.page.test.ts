/** Credentials and sensitive fields in Chromium: shown nowhere, kept nowhere. And a session that ends while one types. */
import { operation } from 'callplane'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { WIRES } from '../../console/src/explore/wires/index.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const SECRETS = ['the-first-password', 'the-second-password', 'the-third-password']
const [PASSWORD, OLD, KEY] = SECRETS as [string, string, string]

const signUp = operation('v1:people.signUp', {
  args: z.object({
    user: z.string(),
    password: z.string().meta({ writeOnly: true }),
    old: z.object({ password: z.string().meta({ format: 'password' }) }).optional(),
    keys: z.array(z.object({ name: z.string(), key: z.string().meta({ writeOnly: true }) })).optional(),
  }),
  result: z.string(),
  run: ({ user, password }) => `${user} has ${password.length} letters`,
})
const report = operation('v1:people.report', {
  args: z.object({ month: z.string() }),
  result: z.string(),
  model: 'async',
  ttlSeconds: 600,
  run: ({ month }) => `report of ${month}`,
})

/** All that the browser keeps for the page beyond this tab. */
const KEPT = `(async () => {
  const promised = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const all = []
  for (const { name } of await indexedDB.databases()) {
    const db = await promised(indexedDB.open(name))
    for (const store of db.objectStoreNames)
      all.push(store, await promised(db.transaction(store).objectStore(store).getAll()))
    db.close()
  }
  return JSON.stringify([all, { ...localStorage }, document.cookie, await caches.keys()])
})()`

describeWith(browser, 'the page', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    const world = worldOptions()
    const operations = [...(world.operations as never[]), signUp, report]
    site = await startConsole({ ...world, operations, rest: { allowExecute: true } })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const signIn = async (page: Page) => {
    await page.getByLabel('Token, or link with a code').fill(TOKENS.operator)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const openAt = async (op: string, args?: object) => {
    const page = await site.open(`#/op/${op}${args ? `?a=${await encodeArgs(JSON.stringify(args))}` : ''}`)
    await signIn(page)
    await page.getByRole('heading', { name: op }).waitFor()
    return page
  }
  const sessionOf = async (page: Page) => String(await page.evaluate('sessionStorage.getItem("callplane.session")'))
  const endSession = async (page: Page) => {
    const headers = { authorization: `Bearer ${await sessionOf(page)}`, origin: site.url }
    expect((await fetch(`${site.url}/console/session`, { method: 'DELETE', headers })).ok).toBe(true)
  }
  const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true }).click()
  const done = (page: Page) => page.getByText('Complete', { exact: true }).waitFor()
  const result = (page: Page) => page.getByLabel('Result', { exact: true })

  test('feature 15: on six wires the exchange names the scheme of the credential, and the token is nowhere', async () => {
    const page = await openAt('v2:Greeter.Hello', { name: 'masks' })
    const session = await sessionOf(page)
    const sent = new Set<string | undefined>()
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.add(request.headers().authorization)
    })

    for (const { title } of WIRES) {
      await page.getByRole('button', { name: title, exact: true }).click()
      await run(page)
      await done(page)
      await page.getByRole('link', { name: 'Exchange' }).click()
      await expect.poll(() => page.locator('.exchanges').innerText()).toMatch(/Authorization\s+Bearer •{8}/)
      const seen = await page.content()
      expect([title, seen.includes(session), seen.includes(TOKENS.operator)]).toEqual([title, false, false])
      await page.getByRole('link', { name: 'Result' }).click()
    }
    await page.getByRole('link', { name: 'Code', exact: true }).click()
    await page.locator('.snippets', { hasText: 'CALLPLANE_TOKEN' }).waitFor()
    expect(await page.content()).not.toContain(session)
    const kept = await page.evaluate(KEPT)
    expect(kept).toContain('Hello masks')
    expect(kept).not.toContain(session)
    expect(kept).not.toContain(TOKENS.operator)
    // The requests did have it.
    expect([...sent]).toEqual([`Bearer ${session}`])
    expect(site.complaints).toEqual([])
  })

  test('the history and saved calls hold no sensitive field, at any depth', async () => {
    const page = await openAt('v1:people.signUp', {
      user: 'ada',
      password: PASSWORD,
      old: { password: OLD },
      keys: [{ name: 'first', key: KEY }],
    })
    await run(page)
    await done(page)
    await page.getByRole('button', { name: 'Save call' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'History' }).click()
    await page.locator('.past-call', { hasText: 'ada' }).first().waitFor()

    const kept = String(await page.evaluate(KEPT))

    expect(kept).toContain('ada has 18 letters')
    expect(kept).toContain('"saved",[{')
    for (const secret of SECRETS) expect(kept).not.toContain(secret)
    const link = await site.open(new URL(page.url()).hash, { token: TOKENS.operator })
    await link.getByLabel('user', { exact: true }).waitFor()
    for (const secret of SECRETS) expect(await link.content()).not.toContain(secret)
  })

  test('a session that ends in the middle of a form: nothing typed is lost, and the call goes on after the sign-in', async () => {
    const page = await openAt('v1:people.signUp')
    await page.getByLabel('user', { exact: true }).fill('grace')
    await page.getByLabel('password', { exact: true }).first().fill(PASSWORD)
    await endSession(page)

    await run(page)
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    expect(await page.getByLabel('user', { exact: true }).inputValue()).toBe('grace')
    await signIn(page)
    await dialog.waitFor({ state: 'detached' })
    await done(page)

    expect(await result(page).innerText()).toContain('grace has 18 letters')
    expect(await page.getByLabel('user', { exact: true }).inputValue()).toBe('grace')
    expect(await page.getByLabel('password', { exact: true }).first().inputValue()).toBe(PASSWORD)
    expect(site.complaints).toEqual([])
  })

  test('broken text that no link can keep survives the sign-in, too', async () => {
    const page = await openAt('v1:people.signUp')
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    const editor = page.getByRole('textbox', { name: 'Arguments as JSON' })
    await page.locator('.cm-content').waitFor()
    await editor.fill('{"user": "half of')
    await endSession(page)

    await page.getByRole('link', { name: 'Approvals', exact: true }).click()
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await signIn(page)
    await page.getByText('Nothing waits for you').waitFor()
    await page.goBack()

    await expect.poll(() => page.locator('.cm-content').innerText()).toContain('{"user": "half of')
  })

  test('another person who signs in does not send what the first one began', async () => {
    const page = await openAt('v1:people.signUp', { user: 'ada', password: PASSWORD })
    const calls: string[] = []
    await page.getByLabel('password', { exact: true }).first().fill(PASSWORD)
    await endSession(page)
    await run(page)
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    page.on('request', (request) => calls.push(request.postData() ?? ''))
    await page.getByLabel('Token, or link with a code').fill(TOKENS.support)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    // The page of the next person has been read, and shows nothing of the first one's call.
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
    expect(await page.getByText('Failed', { exact: true }).count()).toBe(0)
    expect(calls.filter((body) => body.includes('v1:people.signUp'))).toEqual([])
  })

  test('the run of a recorded call opens from its result, by an address of its own', async () => {
    const page = await openAt('v1:people.report', { month: 'May' })
    await run(page)
    await done(page)
    await page.getByRole('link', { name: 'Open run' }).click()

    await page.locator('.title .status').getByText('Complete').waitFor()
    await page.getByRole('link', { name: 'Result', exact: true }).click()
    await page.getByRole('button', { name: 'Show the result' }).click()
    await page.getByText('report of May').waitFor()
    await page.getByRole('link', { name: 'All runs' }).click()
    const listed = await page.getByRole('link', { name: 'v1:people.report' }).first().getAttribute('href')
    await page.goBack()
    await expect.poll(() => page.url()).toContain(listed as string)
  })
})
