/** Several tabs of one person: one waits for changes and tells the others, and none of them loses any. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { callAs, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(browser, 'two tabs', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await addNote()
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const addNote = () => callAs(site.url, 'support', 'v1:Notes.Add', { text: 'Something happened.' })
  /** The requests of a tab that wait for changes. */
  const watchWaits = (page: Page) => {
    const waits: string[] = []
    page.on('request', (request) => {
      if (request.postData()?.includes('v1:callplane.changes.wait')) waits.push(request.postData() as string)
    })
    return waits
  }
  const fresh = (page: Page, count: number) => page.getByRole('button', { name: `Show ${count} new runs` }).waitFor()

  test('share one feed of changes; when the first closes, the second goes on from the same place', async () => {
    const first = await site.open('#/errors', { token: TOKENS.operator })
    const firstWaits = watchWaits(first)
    await first.goto(`${site.url}/console/#/runs`)
    await first.reload()
    await first.locator('.rows .run-row').first().waitFor()
    await expect.poll(() => firstWaits.length).toBeGreaterThan(0)
    const second = await first.context().newPage()
    const secondWaits = watchWaits(second)
    await second.goto(`${site.url}/console/#/runs`)
    await second.locator('.rows .run-row').first().waitFor()

    await addNote()
    await fresh(first, 1)
    await fresh(second, 1)
    expect(secondWaits).toEqual([])

    // The second tab takes over, but its request is slow. What happens before it arrives is not lost.
    const gate = Promise.withResolvers<void>()
    await second.route('**/call', async (route) => {
      if (route.request().postData()?.includes('v1:callplane.changes.wait')) await gate.promise
      await route.continue()
    })
    await first.close()
    await expect.poll(() => secondWaits.length).toBe(1)
    await addNote()
    gate.resolve()
    await fresh(second, 2)
    await addNote()
    await fresh(second, 3)
    expect(site.complaints).toEqual([])
  })

  test('show what changed between the reading of the list and the first wait', async () => {
    const page = await site.open('#/errors', { token: TOKENS.operator })
    const gate = Promise.withResolvers<void>()
    await page.route('**/call', async (route) => {
      if (route.request().postData()?.includes('v1:callplane.changes.wait')) await gate.promise
      await route.continue()
    })
    await page.goto(`${site.url}/console/#/runs`)
    await page.reload()
    const rows = page.locator('.rows .run-row')
    await rows.first().waitFor()
    const before = await rows.count()

    await addNote()
    gate.resolve()

    await expect.poll(() => rows.count()).toBe(before + 1)
  })

  test('read the list again if the server started anew and cannot tell what they missed', async () => {
    const page = await site.open('#/runs?f=op:v1:orders.*', { token: TOKENS.operator })
    await page.getByText('No run matches').waitFor()
    const waits = watchWaits(page)
    await addNote()
    await expect.poll(() => waits.length).toBe(1)

    await site.stop()
    await page.getByText('Not live').waitFor()
    await site.start()
    await callAs(site.url, 'support', 'v1:orders.refund', { orderId: 'T-1', amount: 5 })

    await page.getByRole('link', { name: 'v1:orders.refund' }).waitFor({ timeout: 20_000 })
  })
})
