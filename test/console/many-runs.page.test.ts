/** The list of 100,000 runs in Chromium: few rows are in the document. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { fillDatabase } from '../../bench/suites/growth-fill.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { until } from './waiting.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const RUNS = 100_000
/** `npm run bench -- console` scrolls through all of them. */
const SCROLLED = 4_000
const MOST_ROWS = 80

describeWith(browser, 'the list of 100,000 runs', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    const data = mkdtempSync(join(tmpdir(), 'callplane-many-runs-'))
    await fillDatabase(data, { instances: RUNS, keepUntil: Date.now() + 86_400_000 })
    site = await startConsole({ operations: [], data })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const open = async (width: number, height: number) => {
    const { code } = (await site.server.loginCode()) ?? {}
    const page = await site.open(`#/login?code=${code}&to=%23%2Fruns`, { viewport: { width, height } })
    await page.locator('.rows .run-row').first().waitFor()
    return page
  }

  test('at most 80 rows are in the document while a person scrolls from page to page', async () => {
    const page = await open(1280, 1600)

    const seen = await page.evaluate(`new Promise((resolve) => {
      const list = document.querySelector('.run-table .rows')
      const seen = { most: 0, last: 0 }
      const look = () => {
        const rows = list.querySelectorAll('[role=row]')
        seen.most = Math.max(seen.most, rows.length)
        for (const row of rows) seen.last = Math.max(seen.last, Number(row.ariaRowIndex) - 1)
      }
      // Told of every change of the rows, also of those between two frames.
      new MutationObserver(look).observe(list, { subtree: true, childList: true })
      const scroll = () => {
        look()
        if (seen.last >= ${SCROLLED}) return resolve(seen)
        list.scrollTop = list.scrollHeight
        requestAnimationFrame(scroll)
      }
      scroll()
    })`)

    expect((seen as { most: number }).most).toBeLessThanOrEqual(MOST_ROWS)
    // The server counts the newest ones only, so the page does not claim to know the number of rows.
    expect(await page.locator('.run-table').getAttribute('aria-rowcount')).toBe('-1')
    expect(site.complaints).toEqual([])
  })

  test('the cards of a phone are few, too, and rows keep their place when the next page arrives', async () => {
    const page = await open(360, 740)
    const list = page.locator('.run-table .rows')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.postData() ?? ''))

    await page.evaluate(`document.querySelector('.run-table .rows').scrollTop = 190 * 74`)
    await expect.poll(() => requests.filter((body) => body.includes('calls.list')).length).toBe(1)
    const first = list.locator('[role=row][aria-rowindex="196"]')
    const before = await first.textContent()
    await until(page, `document.querySelector('.run-table .space').offsetHeight > 300 * 74`)

    expect(await first.textContent()).toBe(before)
    expect(await list.locator('[role=row]').count()).toBeLessThanOrEqual(MOST_ROWS)
  })
})
