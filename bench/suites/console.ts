/**
 * Scrolling through 100,000 runs in the console, in Chromium: the longest task of the page, from a trace of the browser. In
 * CPU time, because the browser, the server and this process share two cores.
 */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { buildConsole } from '../../scripts/console-files.ts'
import { createServer } from '../../src/index.ts'
import { openChromium } from '../../test/engines/chromium.ts'
import { browser as chromium } from '../../test/engines/engines.ts'
import { fillDatabase } from './growth-fill.ts'
import type { Findings, Settings } from './suite.ts'

const SUITE = 'console'
const GOAL_MS = 50
const DAY_MS = 86_400_000
/** With these, the trace has every task of every thread, and the names of the threads. */
const CATEGORIES = ['__metadata', 'toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline']

/** As far as it is read here. Durations are in microseconds. */
interface TraceEvent {
  name: string
  pid: number
  tid: number
  dur?: number
  /** The CPU time of the thread. */
  tdur?: number
  args: { name?: string }
}

export async function consolePage({ trial, folder, say }: Settings): Promise<Findings> {
  if (chromium.missing.length > 0) {
    say('console: Chromium is missing. Install it with: npm run engines')
    return { rows: [], goals: [] }
  }
  const runs = trial ? 2_000 : 100_000
  const data = join(folder, 'console')
  await buildConsole()
  await fillDatabase(data, { instances: runs, keepUntil: Date.now() + DAY_MS })
  const server = await createServer({ operations: [], data, log: 'error' })
  try {
    const { url } = await server.listen({ port: 0 })
    const { code } = (await server.loginCode()) ?? {}
    await using browser = await openChromium()
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.goto(`${url}/console/#/login?code=${code}&to=%23%2Fruns`)
    await page.locator('.rows .run-row').first().waitFor()
    say(`console: scrolling through ${runs.toLocaleString('en')} runs`)
    const { tasks, frames } = await traced(browser, page, runs)
    const longest = Math.max(...tasks)
    const above = tasks.filter((ms) => ms > GOAL_MS).length
    say(
      `console: the longest task took ${longest.toFixed(1)} ms of CPU, ${above} of ${tasks.length} took more than ${GOAL_MS}`,
    )
    const contender = `scrolling through ${runs.toLocaleString('en')} runs`
    const figures = { 'longest task, ms of CPU': longest, [`tasks above ${GOAL_MS} ms`]: above, 'frames drawn': frames }
    return {
      rows: [{ suite: SUITE, contender, figures }],
      goals: [
        {
          suite: SUITE,
          name: contender,
          goal: `no task above ${GOAL_MS} ms of CPU`,
          measured: `${longest.toFixed(1)} ms`,
          met: longest <= GOAL_MS,
        },
      ],
    }
  } finally {
    await server.close(0)
  }
}

/** Scrolls to the end through all pages of the list, and back to the top. */
async function traced(browser: Browser, page: Page, runs: number): Promise<{ tasks: number[]; frames: number }> {
  await browser.startTracing(page, { categories: CATEGORIES })
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('.run-table .rows')
    let [frames, isAtEnd] = [0, false]
    const scroll = () => {
      frames++
      const rows = [...list.querySelectorAll('[role=row]')].map((row) => Number(row.ariaRowIndex) - 1)
      isAtEnd ||= Math.max(...rows) >= ${runs}
      if (isAtEnd && list.scrollTop === 0) return resolve(frames)
      list.scrollTop += isAtEnd ? -${runs} : list.clientHeight * 4
      requestAnimationFrame(scroll)
    }
    scroll()
  })`)) as number
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  const isMain = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents
    .filter(({ name, pid, tid }) => /RunTask$/.test(name) && isMain.has(`${pid} ${tid}`))
    .map(({ dur = 0, tdur = dur }) => tdur / 1000)
  if (tasks.length === 0) throw new Error('The trace has no task of the page.')
  return { tasks, frames }
}
