/** The list of 100,000 runs in Chromium: few rows are in the document, and their elements show one run after another. */
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
const ROW = 38

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

  test('scrolling makes no elements: those of rows that leave the window show other runs, in the order of the list', async () => {
    const page = await open(1280, 800)

    const seen = await page.evaluate(`new Promise((resolve) => {
      const list = document.querySelector('.run-table .rows')
      const screen = list.clientHeight
      const indexes = () => [...list.querySelectorAll('[role=row]')].map((row) => Number(row.ariaRowIndex))
      const nodesOf = (root) => {
        const walker = document.createTreeWalker(root)
        const nodes = [root]
        while (walker.nextNode()) nodes.push(walker.currentNode)
        return nodes
      }
      const known = new Set(nodesOf(list))
      const first = indexes()
      const made = new Set()
      const watch = new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of [...addedNodes].flatMap(nodesOf)) if (!known.has(node)) made.add(node)
      })
      watch.observe(list, { subtree: true, childList: true })
      // Twenty screens down, the first of them in small steps, and back in jumps.
      const steps = [
        ...Array.from({ length: 10 }, (_, at) => (screen * at) / 10),
        ...Array.from({ length: 20 }, (_, at) => screen * (at + 1)),
        screen * 5,
        screen * 4.7,
        0,
      ]
      const seen = { made: 0, disordered: 0, shown: new Set() }
      const look = () => {
        const now = indexes()
        if (now.some((index, at) => at > 0 && index !== now[at - 1] + 1)) seen.disordered++
        for (const index of now) seen.shown.add(index)
      }
      const isShown = (top) => {
        const middle = 2 + Math.floor((top + screen / 2) / ${ROW})
        return list.scrollTop >= Math.floor(top) && indexes().includes(middle)
      }
      let top = 0
      const scroll = () => {
        look()
        // The next page may have to arrive first.
        if (isShown(top)) {
          if (steps.length === 0) return resolve({ ...seen, made: made.size, shown: seen.shown.size, first: first.length })
          top = steps.shift()
        }
        list.scrollTop = top
        requestAnimationFrame(scroll)
      }
      scroll()
    })`)

    const { made, disordered, shown, first } = seen as Record<'made' | 'disordered' | 'shown' | 'first', number>
    expect(first).toBeGreaterThan(20)
    expect(shown).toBeGreaterThan(200)
    expect(disordered).toBe(0)
    expect(made).toBe(0)
  })

  test('a selected run stays selected, and its focus and selected text do not pass to another run', async () => {
    const page = await open(1280, 800)
    const list = page.locator('.run-table .rows')
    const rowAt = (index: number) => list.locator(`[role=row][aria-rowindex="${index + 2}"]`)
    const scrollTo = (row: number) =>
      page.evaluate(`document.querySelector('.run-table .rows').scrollTop = ${row} * ${ROW}`)
    const checked = () =>
      page.evaluate(
        `Array.from(document.querySelectorAll('.rows input:checked'), (box) => box.closest('[role=row]').ariaRowIndex)`,
      )
    const focused = () =>
      page.evaluate(`document.activeElement.closest('[role=row]')?.ariaRowIndex ?? document.activeElement.className`)
    const selectedText = () => page.evaluate('getSelection().toString()')

    // Row 5 stays in the window: nothing happens to it, though rows around it become others.
    await rowAt(5).locator('input').click()
    await scrollTo(10)
    await rowAt(0).waitFor({ state: 'detached' })
    expect(await focused()).toBe('7')
    await scrollTo(0)
    await rowAt(0).waitFor()
    expect(await focused()).toBe('7')
    expect(await checked()).toEqual(['7'])

    // It leaves the window: the list has the focus, so that the keys go on scrolling.
    await scrollTo(100)
    await rowAt(110).waitFor()
    expect(await checked()).toEqual([])
    expect(await focused()).toBe('rows')
    await page.keyboard.press('End')
    await rowAt(190).waitFor()

    await scrollTo(0)
    await rowAt(0).waitFor()
    expect(await checked()).toEqual(['7'])
    expect(await rowAt(5).getAttribute('class')).toContain('selected')
    await rowAt(5).locator('input').click()
    expect(await checked()).toEqual([])

    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('.rows [aria-rowindex="9"] .what'))`)
    expect(await selectedText()).not.toBe('')
    await scrollTo(60)
    await rowAt(70).waitFor()
    expect(await selectedText()).toBe('')
  })
})
