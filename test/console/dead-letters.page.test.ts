/** Feature 28: a thousand dead letters are replayed by their filter, and each runs once. */
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { browser, describeWith } from '../engines/engines.ts'
import { startConsole } from './site.ts'
import { callAs, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 120_000 })

const LETTERS = 1_000
const AT_ONCE = 50

describeWith(browser, 'the dead letters', () => {
  test('feature 28: 1,000 are replayed by filter, each once, and others are left alone', async () => {
    let isBroken = true
    const runs = new Map<number, number>()
    const print = operation('v1:labels.print', {
      args: z.object({ label: z.int() }),
      result: z.int(),
      model: 'async',
      run({ label }) {
        if (isBroken) throw new Error('The printer is on fire.')
        runs.set(label, (runs.get(label) ?? 0) + 1)
        return label
      },
    })
    const scan = operation('v1:labels.scan', {
      model: 'async',
      run() {
        throw new Error('The scanner is blind.')
      },
    })
    await using site = await startConsole({ ...worldOptions(), operations: [print, scan] })
    await callAs(site.url, 'support', 'v1:labels.scan', {}, 5)
    for (let from = 0; from < LETTERS; from += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, (_, n) => from + n)
      await Promise.all(some.map((label) => callAs(site.url, 'support', 'v1:labels.print', { label }, 5)))
    }
    isBroken = false
    const page = await site.open('#/dead', { token: TOKENS.operator })
    await page.getByRole('button', { name: /^1,000 v1:labels.print/ }).click()
    await page.locator('.rows input[type=checkbox]').first().click()
    await page.getByRole('button', { name: 'Select all 1,000 that match' }).click()
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByLabel(/^Why/).fill('The printer was replaced.')
    await page.getByRole('button', { name: 'Replay 1,000' }).click()
    await page.getByText('1,000 done, 0 left as they were').first().waitFor({ timeout: 60_000 })

    await expect.poll(() => runs.size, { timeout: 30_000 }).toBe(LETTERS)
    expect([...new Set(runs.values())]).toEqual([1])
    expect(site.complaints).toEqual([])
  })
})
