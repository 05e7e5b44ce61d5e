/** Calls that the browser keeps, in Chromium: the history, which is capped, and saved calls, which go out and come back. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { helloOne, helloTwo } from '../../examples/quickstart/operations.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const MOST_CALLS = 200

/** Copies the newest call of the history, so that it has this many more. */
const addCopies = (count: number) => `(async () => {
  const promised = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const [{ name }] = await indexedDB.databases()
  const db = await promised(indexedDB.open(name))
  const store = db.transaction('calls', 'readwrite').objectStore('calls')
  const { id, ...call } = (await promised(store.getAll())).at(-1)
  for (let n = 0; n < ${count}; n++) await promised(store.add({ ...call, argsText: '{"name":"copy ' + n + '"}' }))
  db.close()
})()`

describeWith(browser, 'the history', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole({ operations: [helloOne, helloTwo] })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const openAndRun = async (name: string) => {
    const a = await encodeArgs(JSON.stringify({ name }))
    const page = await site.open(`#/op/v2:Greeter.Hello?a=${a}`, { at: 'explorer' })
    page.setDefaultTimeout(10_000)
    await run(page)
    await page.getByRole('link', { name: 'History' }).click()
    await past(page, name).waitFor()
    return page
  }
  const run = async (page: Page) => {
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Complete', { exact: true }).waitFor()
  }
  const past = (page: Page, text: string) => page.locator('.past-call', { hasText: text })
  const name = (page: Page) => page.getByLabel('name', { exact: true })

  test('feature 5: request and response survive a reload, and are cleared by a click', async () => {
    const page = await openAndRun('history')

    await page.reload()
    await past(page, 'history').click()

    expect(await page.getByLabel('Result', { exact: true }).innerText()).toContain('Hello history')
    expect(await page.locator('.exchange').innerText()).toContain('POST /call')
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('button', { name: 'Clear history' }).click()
    await page.getByText('Calls that you run here are kept').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('feature 5: the oldest calls leave the history when it is full', async () => {
    const page = await openAndRun('the oldest')
    await page.evaluate(addCopies(MOST_CALLS + 5))
    await run(page)

    await page.goto(`${site.url}/explorer/#/settings`)
    await page.getByText(`${MOST_CALLS} calls`, { exact: true }).waitFor()
  })

  test('feature 6: a saved call has a name, goes out to a file, and comes back with its arguments', async () => {
    const page = await openAndRun('saved')
    await page.getByRole('button', { name: 'Save call' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('My greeting')
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: 'History' }).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const file = await (await downloading).path()
    await page.getByRole('button', { name: 'Delete My greeting' }).click()
    await page.getByText('Save a call to run it again').waitFor()
    const link = page.url()
    await name(page).fill('something else')
    await expect.poll(() => page.url()).not.toBe(link)

    await page.locator('input[type=file][accept*=json]').setInputFiles(file)
    await page
      .locator('.kept')
      .getByRole('button', { name: /^My greeting/ })
      .click()

    await expect.poll(() => name(page).inputValue()).toBe('saved')
    expect(site.complaints).toEqual([])
  })
})
