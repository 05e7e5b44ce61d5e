/** Logging in with a real browser, at the real server: by a link, and at an OpenID provider. */
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { CLIENT, startOAuthServer } from '../security/oauth-server.ts'
import { startConsole } from './site.ts'
import { until } from './waiting.ts'

vi.setConfig({ testTimeout: 60_000 })

const add = operation('v1:math.add', { run: () => 3 })

describeWith(browser, 'logging in', () => {
  test('a link of the server opens the console, and leaves no code and no cookie behind', async () => {
    await using site = await startConsole({ operations: [add] })
    const { code } = (await site.server.loginCode()) ?? {}

    const page = await site.open(`#/login?code=${code}&to=%23%2Fapprovals`, { at: 'explorer' })
    await page.getByRole('link', { name: 'Approvals' }).first().waitFor()

    expect(page.url()).toBe(`${site.url}/explorer/#/approvals`)
    expect(await page.context().cookies()).toEqual([])
    expect(await page.evaluate('sessionStorage.getItem("callplane.session")')).toMatch(/^cps_/)
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('cps_')
    expect(site.complaints).toEqual([])
  })

  test('feature 18: a code works once, and a second browser is told why', async () => {
    await using site = await startConsole({ operations: [add], auth: { verify: () => undefined } })
    const { code } = (await site.server.loginCode()) ?? {}

    const first = await site.open(`#/login?code=${code}&to=%23%2Fruns`)
    await first.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    const second = await site.open(`#/login?code=${code}&to=%23%2Fruns`)
    await second.getByRole('heading', { name: 'Sign in to Callplane' }).waitFor()

    expect(await second.locator('.notice').innerText()).toContain('A code works once')
    await until(second, `document.activeElement?.matches('.sign-in input')`)
    expect(await second.evaluate('sessionStorage.getItem("callplane.session")')).toBeNull()
    expect(site.complaints).toEqual([])
  })

  test('a link that leads elsewhere does not', async () => {
    await using site = await startConsole({ operations: [add] })

    const page = await site.open('#/login?code=x&to=https%3A%2F%2Fevil.example%2F', { at: 'explorer' })
    await page.getByRole('link', { name: 'add', exact: true }).waitFor()

    expect(page.url()).toMatch(new RegExp(`^${site.url}/explorer/#/(?!login)`))
    expect(site.complaints).toEqual([])
  })

  test('a person continues at the identity provider, and comes back to the place where they were', async () => {
    const provider = await startOAuthServer()
    await using site = await startConsole({
      operations: [add],
      auth: { verify: () => undefined },
      console: {
        oidc: {
          issuer: provider.issuer,
          clientId: CLIENT.id,
          clientSecret: CLIENT.secret,
          allowInsecure: true,
          name: 'Example',
          callerOf: ({ sub }) =>
            sub === 'ada' ? { subject: 'ada', scopes: ['callplane:read', 'callplane:approve'] } : undefined,
        },
      },
    })
    provider.register(`${site.url}/console/oidc/callback`)
    const logInAs = async (name: string) => {
      const page = await site.open('#/approvals')
      // The provider's own pages ask another host for a font.
      await page.route(/^https:/, (route) => route.abort())
      await page.getByRole('button', { name: 'Continue with Example' }).click()
      await page.getByPlaceholder('Enter any login').fill(name)
      await page.getByPlaceholder('and password').fill('any')
      await page.getByRole('button', { name: 'Sign-in' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.waitForURL(`${site.url}/console/#/approvals`)
      return page
    }

    const page = await logInAs('ada')
    await page.getByRole('link', { name: 'Approvals' }).first().waitFor()
    const stranger = await logInAs('mallory')
    await stranger.getByText('you may not use this console').waitFor()

    const stored = String(await page.evaluate('JSON.stringify([sessionStorage, localStorage, document.cookie])'))
    expect(stored).toContain('cps_')
    expect(stored).not.toContain('callplane.proof')
    for (const token of provider.issued) expect(stored).not.toContain(token)
    expect(site.complaints.filter((complaint) => !complaint.startsWith('request to'))).toEqual([])
  })
})
