/** Exports of the console in Chromium: the file has exactly what the list of the same filter has. */
import { readFileSync } from 'node:fs'
import type { Download, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { callAs, doSomeWork, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(browser, 'exports of the console', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())
  const open = (fragment: string) => site.open(fragment, { token: TOKENS.operator })
  const list = async <T>(op: string, filter: object): Promise<T> =>
    (await callAs(site.url, 'operator', `v1:callplane.${op}`, { ...filter, limit: 200 })).result as T

  async function exported(page: Page, button: string, format: string): Promise<{ name: string; text: string }> {
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').getByRole('button', { name: format }).click()
    const downloading: Promise<Download> = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Export', exact: true }).click()
    const file = await downloading
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
  }
  const jsonLines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)

  test('feature 24: the JSON lines of the runs are the result of the filter', async () => {
    const page = await open('#/runs?f=op:v1:orders.* state:error')
    await page.getByText('8 runs').waitFor()

    const { name, text } = await exported(page, 'Export runs', 'JSON lines')
    await page.getByText(`8 rows saved as ${name}`).first().waitFor()

    const { calls } = await list<{ calls: unknown[] }>('calls.list', { operation: 'v1:orders.*', state: ['error'] })
    expect(name).toMatch(/^runs-\d{4}-\d\d-\d\d\.jsonl$/)
    expect(calls).toHaveLength(8)
    expect(jsonLines(text)).toEqual(calls)
    expect(site.complaints).toEqual([])
  })

  test('dead letters go to a table, and the audit trail to lines, each as it is filtered', async () => {
    const page = await open('#/dead?f=code:INTERNAL')
    const dead = await exported(page, 'Export dead letters', 'CSV')
    await page.goto(`${site.url}/console/#/audit?f=op:v1:orders.refund@1.0.0 verdict:hold`)
    const audit = await exported(page, 'Export the audit trail', 'JSON lines')

    const letters = await list<{ calls: { id: string }[] }>('deadletters.list', { code: 'INTERNAL' })
    const [head, ...rows] = dead.text.trimEnd().split('\r\n')
    expect(head).toMatch(/^id,requestId,operation,/)
    expect(rows.map((row) => row.split(',')[0])).toEqual(letters.calls.map(({ id }) => id))
    const trail = await list<{ entries: unknown[] }>('audit.list', {
      operation: 'v1:orders.refund@1.0.0',
      verdict: 'hold',
    })
    expect(trail.entries.length).toBeGreaterThan(0)
    expect(jsonLines(audit.text)).toEqual(trail.entries)
    expect([dead.name, audit.name].map((name) => name.replace(/\d.*\d/, ''))).toEqual([
      'dead-letters-.csv',
      'audit-.jsonl',
    ])
  })

  test('a failure is shown in its dialog, and the export can be tried again', async () => {
    const page = await open('#/runs?f=state:error')
    const isExport = (text: string | null) => text?.includes('exports.create') === true
    await page.route('**/call', (route) => (isExport(route.request().postData()) ? route.abort() : route.continue()))
    await page.getByRole('button', { name: 'Export runs' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Export', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await page.unroute('**/call')
    const downloading = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Export', exact: true }).click()
    expect((await downloading).suggestedFilename()).toMatch(/^runs-/)
  })

  test('an export shows that it works, and a person who cancels it gets no file', async () => {
    const page = await open('#/runs?f=state:error')
    const held = Promise.withResolvers<void>()
    await page.route('**/chunks*', async (route) => {
      await held.promise
      await route.continue()
    })
    const files: Download[] = []
    page.on('download', (file) => files.push(file))
    const asked = page.waitForRequest(/\/chunks/)
    await page.getByRole('button', { name: 'Export runs' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Export', exact: true }).click()
    await dialog.getByText('The server writes the file…').waitFor()
    await asked

    const canceled = page.waitForRequest((request) => request.method() === 'DELETE')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    held.resolve()
    await canceled
    await dialog.waitFor({ state: 'detached' })
    expect(files).toEqual([])
    expect(site.complaints).toEqual([])
  })
})
