/** The explorer in Chromium: try an operation, on every wire, with nothing lost and nothing run by itself. */
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { operation } from 'callplane'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { WIRES } from '../../console/src/explore/wires/index.ts'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { until } from './waiting.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const ran: string[] = []
const PASSWORD = 'the password of the test'

const operations = [
  ...Object.values(quickstart),
  operation('v1:tests.risky', {
    args: z.object({ amount: z.number() }),
    result: z.string(),
    sideEffecting: true,
    risk: 'high',
    run: ({ amount }) => {
      ran.push(`risky ${amount}`)
      return `paid ${amount}`
    },
  }),
  operation('v1:tests.once', {
    args: z.object({ text: z.string() }),
    result: z.string(),
    async run({ text }) {
      ran.push(`once ${text}`)
      await pause(300)
      return text
    },
  }),
  operation('v1:tests.secret', {
    args: z.object({ user: z.string(), password: z.string().meta({ writeOnly: true }) }),
    result: z.string(),
    run: ({ user, password }) => `${user} ${password.length}`,
  }),
  operation('v1:tests.forever', {
    model: 'async',
    ttlSeconds: 60,
    result: z.null(),
    run: (_args, { signal }) =>
      new Promise<null>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          ran.push('aborted')
          reject(signal.reason)
        }),
      ),
  }),
]

describeWith(browser, 'the explorer', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole({
      operations,
      rest: { allowExecute: true },
      policy: { default: 'allow', isolation: { high: 'optional' } },
    })
  })
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    ran.length = 0
    site.complaints.length = 0
  })

  const at = async (op: string, args?: object, query = '') => {
    const a = args && (await encodeArgs(JSON.stringify(args)))
    const page = await site.open(`#/op/${op}?${a === undefined ? '' : `a=${a}&`}${query}`, { at: 'explorer' })
    page.setDefaultTimeout(10_000)
    return page
  }
  const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true })
  const result = (page: Page) => page.getByLabel('Result', { exact: true })
  const done = (page: Page) => page.getByText('Complete', { exact: true }).waitFor()

  test('a newcomer lands on a call that is filled in, presses Enter, and is shown what to try next', async () => {
    const page = await site.open('', { at: 'explorer' })
    await run(page).waitFor()
    await until(page, `document.activeElement?.textContent?.startsWith('Run')`)

    await page.keyboard.press('Enter')
    await done(page)

    expect(page.url()).toContain('#/op/v1:Calculator.Add')
    expect(await result(page).innerText()).toMatch(/\b3\b/)
    await page.getByRole('link', { name: 'Watch an async call report its progress' }).click()
    await page.getByRole('heading', { name: 'v1:Reports.Generate' }).waitFor()
    expect(site.complaints).toEqual([])
  })

  test('feature 4: a check names the verdict and the errors, and the handler never runs', async () => {
    const page = await at('v1:tests.once', { text: 7 })

    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('The arguments are not valid').waitFor()

    expect(await page.locator('.check-errors').innerText()).toContain('/text')
    const other = await at('v1:tests.once', { text: 'x' })
    await other.getByRole('button', { name: 'Check' }).click()
    await other.getByText('The call would run').waitFor()
    expect(ran).toEqual([])
  })

  test('feature 8: an async call shows its progress without polling', async () => {
    const page = await at('v1:Reports.Generate', { month: '2026-01', steps: 15 })
    const polls: string[] = []
    page.on('request', (request) => /\/ops\//.test(request.url()) && polls.push(request.url()))

    await run(page).click()
    await page.getByText(/step \d+ of 15/).waitFor()
    await done(page)

    expect(await result(page).innerText()).toContain('"rows": 1500')
    expect(polls).toEqual([expect.stringMatching(/\/events$/)])
  })

  test('feature 9: canceling stops the handler, and the page hears of the end by one event', async () => {
    const page = await at('v1:tests.forever')
    const sent: string[] = []
    page.on('request', (request) => {
      if (/\/ops\//.test(request.url())) sent.push(`${request.method()} ${request.url().replace(/.*\/ops\/[^/]+/, '')}`)
    })
    await run(page).click()
    await page.getByText('Running', { exact: true }).waitFor()
    await expect.poll(() => sent).toEqual(['GET /events'])

    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.getByText('The call was canceled.').waitFor()
    expect(ran).toEqual(['aborted'])
    // Nothing was asked for again: the end came over the connection that was open.
    expect(sent).toEqual(['GET /events', 'DELETE '])
  })

  test('features 14 and 15: six wires, one result, and each exchange with its bytes and masked credentials', async () => {
    const page = await at('v2:Greeter.Hello', { name: 'wires' })
    for (const { id, title } of WIRES) {
      await page.getByRole('button', { name: title, exact: true }).click()
      await run(page).click()
      await done(page)

      expect([id, await result(page).innerText()]).toEqual([id, expect.stringContaining('"greeting": "Hello wires"')])
      await page.getByRole('link', { name: 'Exchange' }).click()
      const exchange = await page.locator('.exchanges').innerText()
      expect(exchange).toMatch(/Content-Type\s+application\/json/)
      expect(exchange).toMatch(/200 · \d+ B/)
      expect(exchange).toMatch(/\d m?s, first byte after [\d.]+ m?s/)
      expect(exchange).toContain('Hello wires')
      await page.getByRole('link', { name: 'Result' }).click()
    }
    expect(site.complaints).toEqual([])
  })

  test('a wire that cannot carry a call says why', async () => {
    const page = await at('v1:Waves.Watch', {}, 'wire=oxp')

    await page.getByText('OXP cannot carry this call.').waitFor()

    expect(await run(page).isDisabled()).toBe(true)
  })

  test('feature 19: every state is a link, and a link runs nothing and holds no secret', async () => {
    const page = await at('v1:tests.secret', { user: 'ada', password: PASSWORD }, 'view=json')
    await run(page).click()
    await done(page)
    await until(page, `!location.hash.includes('tab')`)
    await page.getByRole('button', { name: 'OTC', exact: true }).click()
    await page.getByRole('link', { name: 'Code' }).click()
    await until(page, `/wire=otc/.test(location.hash) && /tab=snippets/.test(location.hash)`)
    await pause(500)
    const link = page.url()
    ran.length = 0

    const other = await site.open(new URL(link).hash, { at: 'explorer' })
    await other.getByRole('link', { name: 'Code', exact: true }).waitFor()

    expect(await other.getByRole('link', { name: 'Code' }).getAttribute('aria-current')).toBe('page')
    expect(await other.getByRole('button', { name: 'OTC' }).getAttribute('aria-pressed')).toBe('true')
    expect(await other.locator('.snippets').innerText()).toContain('"user"')
    expect(await other.content()).not.toContain(PASSWORD)
    expect(ran).toEqual([])
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(kept).not.toContain(PASSWORD)
    await page.getByRole('link', { name: 'History' }).click()
    await page.locator('.past-call').first().click()
    expect(await page.locator('.past-view').innerText()).not.toContain(PASSWORD)
  })

  test('feature 25: effects are confirmed with caller and arguments, a high risk is typed', async () => {
    const page = await at('v1:tests.risky', { amount: 42 })
    await run(page).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()

    const words = await dialog.innerText()
    expect(words).toContain('the local caller')
    expect(words).toContain('"amount": 42')
    const go = dialog.getByRole('button', { name: 'Run', exact: true })
    expect(await go.isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(ran).toEqual([])
    await page.keyboard.press('Control+Enter')
    await dialog.waitFor()
    await page.keyboard.type('v1:tests.risky')
    await go.click()
    await done(page)
    expect(ran).toEqual(['risky 42'])
    // What the check said of a call that had not run is gone.
    expect(await page.getByText('Nothing has run').count()).toBe(0)
  })

  test('feature 25: a double click runs once', async () => {
    const page = await at('v1:tests.once', { text: 'double' })
    await run(page).waitFor()

    await page.evaluate(`for (const _ of [1, 2]) document.querySelector('.button.run').click()`)
    await done(page)

    expect(ran).toEqual(['once double'])
  })

  test('a double click of the mouse does not cancel what it has started', async () => {
    const page = await at('v1:tests.once', { text: 'double' })
    await run(page).dblclick()
    await done(page)

    expect(ran).toEqual(['once double'])
  })

  test('a result below the fold is scrolled into view', async () => {
    const page = await at('v1:tests.once', { text: 'seen' }, 'view=both')
    await page.setViewportSize({ width: 360, height: 640 })
    await run(page).click()
    await done(page)

    await until(page, `document.querySelector('.run-line').getBoundingClientRect().bottom < innerHeight - 54`)
    await until(page, `document.querySelector('.button.run').getBoundingClientRect().top > 0`)
  })

  test('no operation makes a phone scroll sideways', async () => {
    for (const op of ['v1:Calculator.Sum', 'v1:Files.Describe']) {
      const page = await at(op)
      await page.setViewportSize({ width: 360, height: 740 })
      await page.getByRole('button', { name: 'Check' }).waitFor()

      const wide = `[...document.querySelectorAll('.split-detail, .op .panel, .form-drop')]
        .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.className)`
      expect([op, await page.evaluate(wide)]).toEqual([op, []])
    }
  })

  test('a failure links to the page of its code', async () => {
    const page = await at('v1:Doorbell.Ring', { doorbell_id: 'none' })
    await run(page).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click()

    const link = page.getByRole('link', { name: 'DOORBELL_NOT_FOUND' })
    await link.waitFor()

    expect(await link.getAttribute('href')).toBe('#/errors/DOORBELL_NOT_FOUND')
    expect(await page.getByRole('alert').innerText()).toContain('Doorbell ID not found')
  })

  test('feature 13: code for the call stands in six languages, and what is copied runs', async () => {
    const page = await at('v1:Calculator.Add', { a: 20, b: 22 }, 'tab=snippets')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const expected = {
      curl: '/call',
      TypeScript: 'createClient',
      Python: 'urllib',
      Go: 'package main',
      CLI: 'npx callplane call',
    }

    for (const [language, text] of Object.entries({ ...expected, 'MCP JSON': 'tools/call' })) {
      await page.getByRole('button', { name: language, exact: true }).click()
      await page.locator('.snippets', { hasText: text }).waitFor()
      await page.locator('.snippets', { hasText: /"a": ?20/ }).waitFor()
      if (language !== 'MCP JSON') expect(await page.locator('.snippets').innerText()).toMatch(addressOf(site.url))
    }

    await page.getByRole('button', { name: 'curl', exact: true }).click()
    await page.locator('.snippets').getByRole('button', { name: 'Copy' }).click()
    await page.locator('.snippets').getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    const { stdout } = await promisify(execFile)('sh', ['-c', copied])
    expect(JSON.parse(stdout)).toMatchObject({ state: 'complete', result: 42 })
  })
})

/** The server's own address, not a path below it. */
function addressOf(url: string): RegExp {
  return new RegExp(`${url}(?:/call)?(?![\\w/])`)
}
