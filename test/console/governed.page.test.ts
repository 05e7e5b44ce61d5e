/** What a person may not do: approve their own call, change anything in read-only mode. And the trail of what was done. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { settled, until } from './waiting.ts'
import { callAs, doSomeWork, someRuns, TOKENS, waitingApproval, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const SLOW = { timeout: 10_000 }

interface Listed {
  calls: { id: string }[]
}

describeWith(browser, 'the console', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())
  const open = (fragment: string) => site.open(fragment, { token: TOKENS.operator })

  test('feature 20: a person cannot approve their own call, and another person sees what differs and may', async () => {
    await callAs(site.url, 'operator', 'v1:orders.refund', { orderId: 'O-1', amount: 400 })
    const own = await waitingApproval(site.url, 'O-1')
    const page = await open(`#/approvals/${own}`)
    await page.getByLabel(/^Why/).fill('I want it.')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()

    await page.getByRole('alert').getByText('You cannot approve your own call. Ask another person.').waitFor()
    expect(await page.getByRole('alert').getByRole('link', { name: 'SELF_APPROVAL' }).getAttribute('href')).toBe(
      '#/errors/SELF_APPROVAL',
    )
    expect(await page.getByLabel(/^Why/).inputValue()).toBe('I want it.')
    expect(await waitingApproval(site.url, 'O-1')).toBe(own)

    const theirs = await waitingApproval(site.url, 'A-1003')
    await page.goto(`${site.url}/console/#/approvals/${theirs}`)
    await page.getByRole('row', { name: /amount changed 180 950/ }).waitFor()
    await page
      .getByRole('row', { name: /U\+200B/ })
      .first()
      .waitFor()
    await page.getByLabel(/^Why/).fill('Agreed.')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('Approved: v1:orders.refund@1.0.0').waitFor()
    expect(site.complaints).toEqual([])
  })

  test('feature 22: in read-only mode no screen offers a change, and the server refuses each of them', async () => {
    const [failed, other] = await someRuns(site.url)
    const { result } = await callAs(site.url, 'operator', 'v1:callplane.calls.list', { operation: 'v1:stock.*' })
    const running = (result as Listed).calls[0]?.id ?? ''
    const approval = await waitingApproval(site.url, 'A-1004')
    const page = await site.open('#/runs')
    await page.getByLabel('Token, or link with a code').fill(TOKENS.operator)
    await page.getByLabel('Read-only session').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Read-only', { exact: true }).waitFor()

    const changes = /^(?:Cancel|Replay|Dismiss|Approve|Deny|Run)\b/
    const offered: string[] = []
    const look = async (fragment: string) => {
      await page.goto(`${site.url}/console/${fragment}`)
      await settled(page)
      if (/runs|dead/.test(fragment)) await page.locator('.rows input[type=checkbox]').first().check()
      for (const button of await page.locator('main').getByRole('button', { name: changes }).all())
        if (await button.isEnabled()) offered.push(`${fragment}: ${await button.innerText()}`)
    }
    await look('#/runs')
    await look('#/dead')
    for (const id of [failed, running]) await look(`#/run/${id}`)
    await look(`#/compare/${failed}/${other}`)
    await look(`#/approvals/${approval}`)
    await page.getByText('This session is read-only, so it cannot decide.').waitFor()
    await look('#/op/v1:orders.refund')
    await page.getByText('This session reads only, so the server would refuse a call with effects.').waitFor()
    await page.keyboard.press('Control+Enter')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(offered).toEqual([])

    // A call without effects may run, and only its owner's other sessions may cancel it.
    await page.goto(`${site.url}/console/#/op/v1:stock.reconcile`)
    await page.getByRole('textbox', { name: 'warehouse' }).fill('south')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Running', { exact: true }).waitFor()
    await page.getByText('shelf 48 of 120').waitFor()
    expect(await page.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)

    const forced = {
      'v1:callplane.calls.cancel': { ids: [running], why: 'forced' },
      'v1:callplane.calls.replay': { ids: [failed], as: 'me', why: 'forced' },
      'v1:callplane.deadletters.dismiss': { ids: [failed], why: 'forced' },
      'v1:callplane.approvals.decide': { id: approval, verdict: 'approve' },
      'v1:orders.refund': { orderId: 'forced', amount: 1 },
    }
    for (const [op, args] of Object.entries(forced)) {
      const ctx = { requestId: crypto.randomUUID(), idempotencyKey: crypto.randomUUID() }
      const code = await page.evaluate(`(async () => {
        const authorization = 'Bearer ' + sessionStorage.getItem('callplane.session')
        const headers = { authorization, 'content-type': 'application/json' }
        const body = ${JSON.stringify(JSON.stringify({ op, args, ctx }))}
        return (await (await fetch('../call', { method: 'POST', headers, body })).json()).error?.code
      })()`)
      expect([op, code]).toEqual([op, 'READ_ONLY'])
    }
    expect(await waitingApproval(site.url, 'A-1004')).toBe(approval)
    expect(site.complaints).toEqual([])
  })

  test('feature 30: the audit trail is searched by person, rule and code, and shows who looked at payloads', async () => {
    const [failed] = await someRuns(site.url)
    const page = await open(`#/run/${failed}?tab=args`)
    await page.getByRole('button', { name: 'Show the arguments' }).click()
    await page.getByText('"orderId"').waitFor()
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    const rows = page.getByRole('table', { name: 'Audit' }).locator('tbody tr')
    const cells = (column: number) => rows.locator(`td:nth-child(${column})`).allTextContents()
    /** True if every row has the text in this column. */
    const all = async (column: number, text: string) => {
      const found = await cells(column)
      return found.length > 0 && found.every((cell) => cell.includes(text))
    }
    const filter = page.getByLabel('Filter', { exact: true })
    const search = async (text: string) => {
      await filter.fill(text)
      await filter.press('Enter')
      await until(page, `decodeURIComponent(location.hash).endsWith(${JSON.stringify(`f=${text}`)})`)
      await settled(page)
    }

    await rows.getByRole('link', { name: 'support' }).first().click()
    await expect.poll(() => filter.inputValue(), SLOW).toBe('owner:callplane|support')
    await expect.poll(() => all(2, 'support'), SLOW).toBe(true)
    const rule = await rows.locator('td:nth-child(4) .mono', { hasText: 'large-refunds' }).first().innerText()
    await search(`rule:${rule.trim()}`)
    await expect.poll(() => all(4, 'large-refunds'), SLOW).toBe(true)
    expect(await all(3, 'v1:orders.refund')).toBe(true)
    await search('code:CARRIER_AWAY')
    await expect.poll(() => cells(5), SLOW).toEqual(['CARRIER_AWAY', 'CARRIER_AWAY', 'CARRIER_AWAY'])
    await search('owner:callplane|support code:CARRIER_AWAY verdict:deny')
    await page.getByText('No entry matches').waitFor()

    await search('op:v1:callplane.calls.payload@1.0.0')
    await expect.poll(() => all(3, 'v1:callplane.calls.payload'), SLOW).toBe(true)
    expect(await all(2, 'operator')).toBe(true)
    expect(site.complaints).toEqual([])
  })
})
