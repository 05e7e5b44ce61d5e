/** Runs, one run, dead letters and approvals in Chromium, against a server on which people have worked. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { callAs, doSomeWork, someRuns, TOKENS, waitingApproval, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(browser, 'the console', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())
  const open = (fragment: string) => site.open(fragment, { token: TOKENS.operator })

  test('a filter narrows the list, its text and its chips are one string, and the address has it', async () => {
    const page = await open('#/runs')
    await page.getByRole('button', { name: 'Failed' }).click()
    await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('state:error')
    await page.getByLabel('Filter', { exact: true }).fill('state:error code:CARRIER_AWAY')
    await page.keyboard.press('Enter')

    await page.getByText('3 runs').waitFor()
    expect(page.url()).toContain('#/runs?f=state:error%20code:CARRIER_AWAY')
    await page.getByRole('button', { name: 'Remove code:CARRIER_AWAY' }).click()
    await page.getByText('8 runs').waitFor()
    await page.goBack()
    await page.getByText('3 runs').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('new runs are counted and do not move the rows', async () => {
    const page = await open('#/runs')
    const first = page.locator('.rows .run-row').first()
    await first.waitFor()
    const before = await first.textContent()
    await callAs(site.url, 'support', 'v1:Notes.Add', { text: 'New.' })

    const pill = page.getByRole('button', { name: 'Show 1 new runs' })
    await pill.waitFor()
    expect(await first.textContent()).toBe(before)
    await pill.click()
    await expect.poll(() => first.textContent()).toContain('v1:Notes.Add')
  })

  test('the keys move, preview, select and open', async () => {
    const page = await open('#/runs?f=code:CARRIER_AWAY')
    await page.locator('.rows .run-row').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('p')
    await page.getByRole('complementary', { name: 'Preview' }).getByText('Attempt 3 failed').waitFor()
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain('#/run/')
  })

  test('Enter presses the button that has the focus, also where it opens a row', async () => {
    const page = await open('#/runs')
    await page.locator('.rows .run-row').first().waitFor()
    await page.keyboard.press('j')
    await page.getByRole('button', { name: 'Failed' }).focus()
    await page.keyboard.press('Enter')

    await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('state:error')
    await page.getByText('8 runs').waitFor()
  })

  test('the keys also move, select and open among the dead letters', async () => {
    const page = await open('#/dead?f=code:INTERNAL')
    await page.locator('.rows .run-row').first().waitFor()
    for (const key of ['j', 'x', 'j', 'x', 'j', 'k']) await page.keyboard.press(key)
    await page.getByText('2 selected').waitFor()
    const chosen = await page.locator('.rows .run-row.current a').getAttribute('href')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain(chosen as string)
    await page.goto(`${site.url}/console/#/dead?f=code:NOTHING`)
    await page.getByRole('link', { name: 'Clear the filter' }).click()
    await page.locator('.rows .run-row').first().waitFor()
  })

  test('the timeline shows every attempt, and a payload only after a click', async () => {
    const [failed] = await someRuns(site.url)
    const page = await open(`#/run/${failed}`)
    for (const attempt of [1, 2, 3]) await page.getByText(`Attempt ${attempt} failed`).waitFor()
    await page.getByRole('link', { name: 'Arguments' }).click()
    await page.getByRole('button', { name: 'Show the arguments' }).click()
    await page.getByText('"orderId"').waitFor()
  })

  test('a link with an unknown tab shows the first one', async () => {
    const [failed, other] = await someRuns(site.url)
    const page = await open(`#/run/${failed}?tab=nothing`)
    await page.getByText('Attempt 1 failed').waitFor()

    await page.goto(`${site.url}/console/#/compare/${failed}/${other}?part=nothing`)
    expect(await page.locator('.tabs [aria-current]').innerText()).toBe('Arguments')
  })

  test('beside a preview on a tablet, rows still have the name of the operation', async () => {
    const [failed] = await someRuns(site.url)
    const page = await open(`#/runs?peek=${failed}`)
    await page.setViewportSize({ width: 768, height: 900 })
    await page.locator('.peek h2, .peek h1').first().waitFor()

    const names = page.locator('.rows .run-row .what > a').filter({ hasText: 'v1:orders.ship' })
    await names.first().waitFor()
    const cut = `[...document.querySelectorAll('.rows .what > a')]
      .filter((name) => name.textContent === 'v1:orders.ship' && name.scrollWidth > name.clientWidth).length`
    expect(await page.evaluate(cut)).toBe(0)
  })

  test('the tree folds the server’s own operations away until one of them is opened', async () => {
    const page = await open('#/op/v1:Calculator.Add')
    const tree = page.getByRole('navigation', { name: 'Operations', exact: true })
    await tree.getByRole('button', { name: 'callplane.calls' }).waitFor()
    expect(await tree.getByRole('link', { name: 'payload' }).count()).toBe(0)
    expect(await tree.getByRole('link', { name: /^Ring/ }).innerText()).toContain('effects')

    await page.goto(`${site.url}/console/#/op/v1:callplane.calls.payload`)
    await tree.getByRole('link', { name: 'payload' }).waitFor()
  })

  test('a running call is canceled', async () => {
    const page = await open('#/runs?f=op:v1:stock.*')
    await page.getByRole('link', { name: 'v1:stock.reconcile' }).click()
    await page.getByText('40 % · shelf 48 of 120').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.getByText('Write why first.').waitFor()
    const focused = `document.activeElement?.getAttribute('aria-invalid')`
    await expect.poll(() => page.evaluate(focused)).toBe('true')
    await dialog.getByLabel(/^Why/).fill('The warehouse is closed.')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('.title .status').getByText('Canceled').waitFor()
  })

  test('a replay with edited arguments opens the new run, and both are linked', async () => {
    const [failed] = await someRuns(site.url)
    const page = await open(`#/run/${failed}`)
    await page.getByRole('button', { name: 'Replay…' }).click()
    await page.getByRole('button', { name: 'Edit the arguments' }).click()
    await page.getByLabel('Arguments (JSON)').fill('{"orderId":"A-9","fails":0}')
    await page.getByLabel(/^Why/).fill('The carrier is back.')
    await page.getByRole('button', { name: 'Replay', exact: true }).click()

    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => page.url(), { timeout: 10_000 }).not.toContain(failed)
    await page.locator('.title .status').getByText('Complete').waitFor()
    await page.getByRole('link', { name: 'Compare with the original' }).click()
    await page.getByRole('button', { name: 'Show both payloads' }).click()
    await page
      .getByRole('row', { name: /orderId changed/ })
      .getByText('A-9')
      .waitFor()
    await page.goto(`${site.url}/console/#/run/${failed}?tab=related`)
    await page.getByRole('heading', { name: 'Replays' }).waitFor()
  })

  test('dead letters are dismissed by filter', async () => {
    const page = await open('#/dead')
    await page.getByRole('button', { name: /v1:orders.ship INTERNAL/ }).click()
    await page.locator('.rows input[type=checkbox]').first().click()
    await page.getByRole('button', { name: 'Select all 5 that match' }).click()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByLabel(/^Why/).fill('The printer was replaced.')
    await page.getByRole('button', { name: 'Dismiss 5' }).click()
    await page.getByText('5 done, 0 left as they were').first().waitFor()
    await page.getByText('No dead letter matches').waitFor()
  })

  test('dead letters are replayed by filter, and calls that ended well are not', async () => {
    for (const orderId of ['C-1', 'C-2'])
      await callAs(site.url, 'support', 'v1:orders.ship', { orderId, breaks: true }, 5)
    const page = await open('#/dead?f=op:v1:orders.ship')
    await page.locator('.rows input[type=checkbox]').first().click()
    await page.getByRole('button', { name: 'Select all 2 that match' }).click()
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByLabel(/^Why/).fill('The printer was replaced.')
    await page.getByRole('button', { name: 'Replay 2' }).click()
    await page.getByText('2 done, 0 left as they were').first().waitFor()
  })

  test('every range of the health screen has charts', async () => {
    for (const range of ['15m', '1h', '6h', '24h']) {
      const page = await open(`#/health?range=${range}`)
      await page.getByRole('region', { name: 'Calls and errors' }).waitFor()
    }
  })

  test('the presets of the audit trail find what people did, and why', async () => {
    const page = await open('#/audit')
    await callAs(site.url, 'operator', 'v1:callplane.calls.cancel', { ids: ['none'], why: 'Asked by phone.' })
    await page.getByRole('button', { name: 'Payloads shown' }).click()
    await page.locator('td', { hasText: 'v1:callplane.calls.payload' }).first().waitFor()
    await page.getByLabel('Filter', { exact: true }).fill('op:v1:callplane.calls.cancel')
    await page.keyboard.press('Enter')
    await page.getByText('Asked by phone.').first().waitFor()
  })

  test('long values must be opened before a call can be approved', async () => {
    const id = await waitingApproval(site.url, 'A-1004')
    const page = await open(`#/approvals/${id}`)
    const approve = page.getByRole('button', { name: 'Approve', exact: true })
    await page.getByText('Open the long value above before you approve.').waitFor()
    await page.locator('.split-list li', { hasText: /A-1004 · 120 · The customer wrote: .{1,60}…/ }).waitFor()
    await approve.click({ force: true })
    expect(await approve.getAttribute('aria-disabled')).toBe('true')
    await page
      .getByRole('button', { name: /^Show all/ })
      .first()
      .click()
    await page.getByLabel(/^Why/).fill('Agreed with the customer.')
    await approve.click()
    await page.getByText('Approved: v1:orders.refund@1.0.0').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('after a restart of the server, changes may be lost, so the list is read again by itself', async () => {
    const page = await open('#/runs?f=op:v1:Notes.Add')
    const rows = page.locator('.rows .run-row')
    await rows.first().waitFor()
    const before = await rows.count()
    await site.stop()
    await site.start()
    await callAs(site.url, 'support', 'v1:Notes.Add', { text: 'After the restart.' })

    await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(before + 1)
  })
})
