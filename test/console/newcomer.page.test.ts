/** The first minutes with the quickstart, from the printed link on, with the keyboard only. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { refund, server } from '../../examples/quickstart/refunds.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { until } from './waiting.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** No screen here has more controls of its own. */
const MOST_TABS = 30

describeWith(browser, 'a newcomer', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole({ operations: [...Object.values(quickstart), refund], ...server })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  const openLink = async () => {
    const { code } = (await site.server.loginCode()) ?? {}
    const page = await site.open(`#/login?code=${code}`, { at: 'explorer' })
    await until(page, `document.activeElement?.textContent?.startsWith('Run')`)
    return page
  }
  const complete = (page: Page) => page.getByText('Complete', { exact: true }).waitFor()
  /** The arguments are filled in. */
  const ready = (page: Page) =>
    page.getByRole('button', { name: 'Run', exact: true }).and(page.locator(':enabled')).waitFor()
  /** Types into the palette at once, as a person does who knows it. */
  const goTo = async (page: Page, words: string, title: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(words)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
  }
  const tabTo = async (page: Page, role: 'button' | 'link' | 'textbox', name: string) => {
    const wanted = page.locator('main, dialog').getByRole(role, { name, exact: true }).first()
    await wanted.waitFor()
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      if ((await wanted.and(page.locator(':focus')).count()) > 0) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`${MOST_TABS} tabs did not lead to ${name}.`)
  }

  test('runs a first call, watches one that takes time, and approves one that waits', async () => {
    const page = await openLink()
    const asked: string[] = []
    page.on('dialog', (dialog) => asked.push(dialog.message()))
    await page.keyboard.press('Enter')
    await complete(page)
    expect(await page.getByRole('dialog').count()).toBe(0)

    await tabTo(page, 'link', 'Watch an async call report its progress')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'v1:Reports.Generate' }).waitFor()
    await until(page, `document.activeElement?.textContent?.startsWith('Run')`)
    await page.keyboard.press('Enter')
    await page.getByText(/step \d+ of/).waitFor()
    await complete(page)

    await tabTo(page, 'link', 'Try a call that a person must approve')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'v1:Orders.Refund' }).waitFor()
    await ready(page)
    await page.keyboard.press('Control+Enter')
    await page.getByText('A person must approve it before it runs.').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Waiting for an approval.').waitFor()
    await goTo(page, 'approvals', 'Approvals')
    await page.locator('.split-list li').first().waitFor()
    // The screen takes its keys just after it is drawn.
    await expect
      .poll(async () => {
        await page.keyboard.press('j')
        return page.url()
      })
      .toContain('#/approvals/')
    await tabTo(page, 'button', 'Approve')
    await page.keyboard.press('Enter')
    await page.getByText('Approved: v1:Orders.Refund').waitFor()
    await goTo(page, 'orders.refund', 'v1:Orders.Refund')
    await complete(page)
    expect(asked).toEqual([])
    expect(site.complaints).toEqual([])
  })

  test('reads a stream, finds a failed run and replays it', async () => {
    const page = await openLink()
    await goTo(page, 'waves', 'v1:Waves.Watch')
    await ready(page)
    await page.keyboard.press('Control+Enter')
    await page.locator('.code-row', { hasText: '"n":3' }).waitFor()
    // The stream is drawn ten times a second, and no letter goes astray.
    await goTo(page, 'doorbell', 'v1:Doorbell.Ring')
    await ready(page)
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'DOORBELL_NOT_FOUND' }).waitFor()

    await goTo(page, 'runs', 'Runs')
    // The next Tab goes to the screen, not through the rail again.
    await until(page, `document.activeElement?.closest('main')`)
    // On a busy machine, the filter listens to its key some time after it is shown.
    await expect
      .poll(async () => {
        const isFocused = await page.evaluate(`document.activeElement?.matches('search input') === true`)
        if (!isFocused) await page.keyboard.press('/')
        return isFocused
      })
      .toBe(true)
    await page.keyboard.type('state:error op:v1:Doorbell.*')
    await page.keyboard.press('Enter')
    await page
      .getByText('1 runs')
      .or(page.getByText('1 run', { exact: true }))
      .waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'v1:Doorbell.Ring' }).waitFor()
    const failed = page.url()
    await tabTo(page, 'button', 'Replay…')
    await page.keyboard.press('Enter')
    await until(page, `document.activeElement?.matches('dialog input')`)
    await page.keyboard.type('Trying it.')
    await tabTo(page, 'button', 'Replay')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).not.toBe(failed)
    await page.getByRole('link', { name: 'Compare with the original' }).waitFor()
    expect(site.complaints).toEqual([])
  })
})
