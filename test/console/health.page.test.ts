/** Feature 29: what the health screen shows is what `/metrics` counted. */
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { readCounters } from '../scenarios/operate/load.ts'
import { createStepClock } from '../scenarios/server.ts'
import { startConsole } from './site.ts'
import { settled } from './waiting.ts'
import { callAs, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000 })

const STEP_MS = 10_000

describeWith(browser, 'the health screen', () => {
  test('feature 29: the numbers of its charts are those of /metrics, step by step', async () => {
    const clock = createStepClock(Date.now() - (Date.now() % STEP_MS))
    const add = operation('v1:math.add', { run: () => 3 })
    const fail = operation('v1:math.fail', { run: (_, ctx) => ctx.fail('NO', 'No.') })
    await using site = await startConsole({ ...worldOptions(), clock, operations: [add, fail] })
    const headers = { authorization: `Bearer ${TOKENS.operator}` }
    const request = (path: string, init?: RequestInit) => fetch(`${site.url}${path}`, init)
    const counted: { calls: number; errors: number }[] = []
    for (const [calls, failures] of [
      [3, 1],
      [5, 0],
    ] as const) {
      for (let n = 0; n < calls; n++) await callAs(site.url, 'support', 'v1:math.add', {})
      for (let n = 0; n < failures; n++) await callAs(site.url, 'support', 'v1:math.fail', {})
      counted.push(await readCounters([{ request }], headers))
      clock.advance(STEP_MS)
    }
    const page = await site.open('#/health?range=15m', { token: TOKENS.operator, now: new Date(clock.now()) })
    await settled(page)
    const chart = page.getByRole('region', { name: 'Calls and errors' })

    await chart.getByText('As a table').click()
    const column = async (at: number) => {
      const cells = await chart.locator(`tbody td:nth-child(${at})`).allTextContents()
      return cells.filter((cell) => /\d/.test(cell)).map(Number)
    }

    const [first, second] = counted
    await expect.poll(() => column(2)).toEqual([first?.calls, (second?.calls ?? 0) - (first?.calls ?? 0)])
    expect(await column(3)).toEqual([1, 0])
    expect([first?.calls, second?.calls]).toEqual([4, 9])
    expect(await chart.locator('.legend').innerText()).toMatch(/Calls per 10 s\s*5/)
  })
})
