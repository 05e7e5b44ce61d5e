/** Operators of two tenants on one server: neither sees a row of the other. */
import { hashToken } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { settled } from './waiting.ts'
import { doSomeWork, someRuns, TOKENS, waitingApproval, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const OTHER = 'operator-token-of-another-tenant'

describeWith(browser, 'the operator of another tenant', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    const world = worldOptions()
    const tokens = world.auth?.tokens ?? []
    const scopes = tokens[0]?.scopes ?? []
    const other = { hash: hashToken(OTHER), kind: 'bearer' as const, subject: 'operator', scopes, tenant: 'other' }
    site = await startConsole({ ...world, auth: { tokens: [...tokens, other] } })
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())

  test('sees no row of the first one on any screen, nor by an address that names one', async () => {
    const [failed, other] = await someRuns(site.url)
    const approval = await waitingApproval(site.url, 'A-1003')
    const page = await site.open('#/runs', { token: OTHER })
    const answers: string[] = []
    page.on('response', async (response) => {
      if (/json/.test(response.headers()['content-type'] ?? '')) answers.push(await response.text().catch(() => ''))
    })
    const look = async (fragment: string, words: string) => {
      await page.goto(`${site.url}/console/${fragment}`)
      await page.getByText(words).first().waitFor()
      await settled(page)
      expect([fragment, await page.locator('main').innerText()]).toEqual([
        fragment,
        expect.not.stringMatching(/support|CARRIER_AWAY|A-100\d/),
      ])
    }

    await look('#/runs', 'No runs yet')
    await look('#/dead', 'No dead letters')
    await look('#/streams', 'No stream runs now')
    await look('#/approvals', 'Nothing waits for you')
    await look('#/audit', 'No entries')
    await look('#/health', 'Open calls')
    await look(`#/run/${failed}`, 'not here')
    await look('#/runs', 'No runs yet')
    await look(`#/compare/${failed}/${other}`, 'not')
    await look('#/runs', 'No runs yet')
    await look(`#/approvals/${approval}`, 'not')
    await look(`#/streams/${failed}`, 'This stream is not here')
    expect(answers.length).toBeGreaterThan(10)
    for (const answer of answers) expect(answer).not.toMatch(/callplane\|support|A-100\d/)
    // The same addresses are there for the operator of the first tenant.
    const own = await site.open(`#/run/${failed}`, { token: TOKENS.operator })
    await own.getByRole('link', { name: 'CARRIER_AWAY' }).first().waitFor()
    expect(site.complaints).toEqual([])
  })
})
