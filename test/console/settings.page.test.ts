/** Settings, own views and saved calls in Chromium: each has one truth, wherever it is shown. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, type OpenOptions, startConsole } from './site.ts'
import { callAs, doSomeWork, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(browser, 'settings of the console', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())
  const open = (fragment: string, more: OpenOptions = {}) => site.open(fragment, { token: TOKENS.operator, ...more })
  const to = (page: Page, fragment: string) => page.goto(`${site.url}/console/${fragment}`)
  const pressed = (page: Page, name: string) =>
    page.locator('main').getByRole('button', { name, exact: true }).getAttribute('aria-pressed')
  async function choose(page: Page, words: string): Promise<void> {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(words)
    await page.getByRole('option', { name: words }).first().waitFor()
    await page.keyboard.press('Enter')
  }

  test('theme, times and keys are the same here, in the menu and in the palette', async () => {
    const page = await open('#/settings')
    await page.locator('main').getByRole('button', { name: 'Dark' }).click()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.getByRole('button', { name: 'You and settings' }).click()
    expect(await page.locator('.person').getByRole('button', { name: 'Dark' }).getAttribute('aria-pressed')).toBe(
      'true',
    )
    await page.keyboard.press('Escape')
    await choose(page, 'Switch between local time and UTC')
    await expect.poll(() => pressed(page, 'UTC')).toBe('true')

    await page.locator('main').getByRole('checkbox', { name: 'Single-key shortcuts' }).uncheck()
    await page.locator('main h1').click()
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.reload()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect([await pressed(page, 'Dark'), await pressed(page, 'UTC')]).toEqual(['true', 'true'])
    expect(site.complaints).toEqual([])
  })

  test('a view is named in Runs, found in the palette, and goes out to a file and back', async () => {
    const page = await open('#/runs?f=state:error op:v1:orders.ship')
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByLabel('Name of the view').fill('Broken shipments')
    await page.keyboard.press('Enter')
    const chip = page.getByRole('button', { name: 'Broken shipments', exact: true })
    await expect.poll(() => chip.getAttribute('aria-pressed')).toBe('true')

    await to(page, '#/errors')
    await choose(page, 'Broken shipments')
    await expect
      .poll(() => page.getByLabel('Filter', { exact: true }).inputValue())
      .toBe('state:error op:v1:orders.ship')
    await page.reload()
    await to(page, '#/runs')
    await chip.click()
    await page.getByText('8 runs').waitFor()

    await to(page, '#/settings')
    const views = page.getByRole('region', { name: 'Saved views of the runs' })
    const downloading = page.waitForEvent('download')
    await views.getByRole('button', { name: 'Export' }).click()
    const file = await (await downloading).path()
    await views.getByRole('button', { name: 'Delete Broken shipments' }).click()
    await views.getByText('Set a filter in Runs').waitFor()
    await views
      .locator('input[type=file]')
      .setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{}') })
    await page.getByText('This file has no saved views.').waitFor()
    await views.locator('input[type=file]').setInputFiles(file)
    await views.getByRole('button', { name: /^Broken shipments/ }).click()
    await expect.poll(() => chip.getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: 'Delete the view Broken shipments' }).click()
    await chip.waitFor({ state: 'detached' })
    expect(site.complaints).toEqual([])
  })

  test('a saved call opens from the palette, filled in, and does not run; the history is counted and cleared', async () => {
    const a = await encodeArgs('{"name":"Ada"}')
    const page = await open(`#/op/v2:Greeter.Hello?a=${a}`)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Complete', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save call' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Greet Ada')
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()

    await to(page, '#/settings')
    await page.getByText('1 call', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Saved calls' }).getByText('Greet Ada').waitFor()
    await page.getByRole('button', { name: 'Clear history' }).click()
    await page.getByText('0 calls').waitFor()
    await choose(page, 'Greet Ada')
    await page.getByRole('heading', { name: 'v2:Greeter.Hello' }).waitFor()
    await expect.poll(() => page.url()).toContain(`#/op/v2:Greeter.Hello?a=${a}`)
    await to(page, '#/settings')
    await page.getByText('0 calls').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('the session says who, what and until when, and ends here', async () => {
    const page = await site.open('#/settings')
    await page.getByLabel('Token, or link with a code').fill(TOKENS.support)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const session = page.getByRole('region', { name: 'Session' })
    await session.getByText('support').waitFor()
    await session.getByText('without a request').waitFor()
    expect(await page.getByText('Saved views of the runs').count()).toBe(0)
    await session.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Callplane' }).waitFor()
  })

  test('the charts have 24 hours of the chosen zone', async () => {
    const page = await open('#/settings', { timezoneId: 'America/New_York', locale: 'en-US' })
    await page.evaluate(`
      globalThis.drawn = []
      const paint = CanvasRenderingContext2D.prototype.fillText
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        drawn.push(text)
        return paint.call(this, text, ...place)
      }
    `)
    await page.route('**/call', async (route) => {
      const sent = JSON.parse(route.request().postData() ?? '{}')
      if (sent.op !== 'v1:callplane.metrics.series') return route.continue()
      const times = Array.from({ length: 61 }, (_, minute) => new Date(Date.UTC(2026, 9, 30, 16, minute)).toISOString())
      const result = { times, series: [{ name: 'calls', values: times.map(() => 1) }] }
      return route.fulfill({ json: { requestId: sent.ctx.requestId, state: 'complete', result } })
    })
    await to(page, '#/health')
    await page.locator('.chart canvas').waitFor()
    const words = async () => (await page.evaluate('drawn.splice(0)')) as string[]
    const local = await words()
    await choose(page, 'Switch between local time and UTC')
    await expect.poll(async () => (await words()).filter((word) => word === '16:30')).not.toEqual([])

    expect(local).toEqual(expect.arrayContaining(['12:00', '12:30', 'Oct 30']))
    expect(local.filter((word) => /[ap]m/i.test(word))).toEqual([])
  })

  test('a call that was made in Explore opens its run by the id of the server', async () => {
    const page = await open(`#/op/v1:Reports.Generate?a=${await encodeArgs('{"month":"2026-01","steps":1}')}`)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByRole('link', { name: 'Open run' }).click()
    await page.locator('.title .status').getByText('Complete').waitFor()
    const { result } = await callAs(site.url, 'operator', 'v1:callplane.calls.list', {
      operation: 'v1:Reports.Generate',
    })
    const [call] = (result as { calls: { id: string }[] }).calls
    await expect.poll(() => page.url()).toContain(`#/run/${call?.id}`)
  })
})
