/** Streams in the console: those of this tab with their frames, those of others without, to their end. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { subscribeAs, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const WAVES = 'v1:Waves.Watch'

describeWith(browser, 'streams in the console', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
  })
  afterAll(() => site[Symbol.asyncDispose]())
  const open = (fragment: string) => site.open(fragment, { token: TOKENS.operator })
  const rows = (page: Page) => page.locator('.split-list li')
  const fact = (page: Page, name: string) =>
    page.locator('.facts dt', { hasText: name }).locator('xpath=following-sibling::dd[1]')

  test('the list follows the streams of all callers, and says why their frames are not shown', async () => {
    const page = await open('#/streams')
    await page.getByRole('heading', { name: 'No stream runs now' }).waitFor()

    await subscribeAs(site.url, 'support', WAVES, {})
    await rows(page).first().waitFor()
    await subscribeAs(site.url, 'support', WAVES, { perSecond: 5 })
    await page.getByRole('button', { name: 'Show 1 new streams' }).waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.keyboard.press('j')
    await page.getByText('only its caller may be it. This one belongs to support.').waitFor()
    await page.getByText('Ends at the latest').waitFor()
    expect(await page.locator('.stream-view').count()).toBe(0)

    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Why').fill('Nobody watches it.')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.locator('.stream-detail .title .status').getByText('Complete').waitFor()
    expect(await fact(page, 'How it ended').innerText()).toBe('it was stopped')
    expect(await fact(page, 'Frames sent').innerText()).toMatch(/^\d+$/)
    await rows(page).first().getByText('Complete').waitFor()
    await page.getByRole('button', { name: 'Show 1 new streams' }).click()
    await rows(page).first().getByText('Streaming').waitFor()
    expect(await rows(page).count()).toBe(1)
    expect(site.complaints).toEqual([])
  })

  test('a stream of this tab goes on on other screens, and has its frames, chart, pause and file here', async () => {
    const page = await open(`#/op/${WAVES}`)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByRole('link', { name: 'Open stream' }).click()
    const count = async () => Number((await page.locator('.stream-view strong').innerText()).replaceAll(/\D/g, ''))
    await expect.poll(count, { timeout: 15_000 }).toBeGreaterThan(5)
    await page.locator('.frames-chart canvas').waitFor()
    const link = page.url()

    await page.getByRole('button', { name: 'Pause' }).click()
    const paused = await count()
    await page.getByRole('link', { name: 'Errors', exact: true }).click()
    await page.getByRole('heading', { name: 'Errors', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Streams', exact: true }).click()
    await rows(page).filter({ hasText: 'this tab' }).click()
    await expect.poll(count).toBeGreaterThan(paused)

    const other = await open('#/errors')
    await other.goto(link)
    await other.getByText('this one is another tab or program of yours').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.locator('.stream-detail .title .status').getByText('Complete').waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save frames' }).click()
    const lines = readFileSync(await (await downloading).path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(lines.map((_, index) => index + 1))
    await other.getByText('The stream has ended, and the server keeps no frames.').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('a run that streams leads to its frames, and what is no stream says so', async () => {
    const id = await subscribeAs(site.url, 'support', WAVES, {})
    const page = await open(`#/run/${id}`)
    await page.getByRole('link', { name: 'Frames' }).click()
    await page.getByText('The frames cannot be shown here').waitFor()
    await page.goto(`${site.url}/console/#/streams/00000000-0000-7000-8000-000000000000`)
    await page.getByRole('heading', { name: 'This stream is not here' }).waitFor()
    const support = await site.open('#/streams', { token: TOKENS.support })
    await support.getByText('This screen needs the scope callplane:read.').waitFor()
  })

  test('on a phone the list comes first, and the chosen stream takes its place', async () => {
    const page = await site.open('#/streams', { token: TOKENS.operator, viewport: { width: 360, height: 740 } })
    await rows(page).first().click()
    await page.getByText('Ends at the latest').waitFor()
    expect(await rows(page).first().isVisible()).toBe(false)
    await page.locator('.stream-detail').getByRole('link', { name: 'All streams' }).click()
    await rows(page).first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  })
})
