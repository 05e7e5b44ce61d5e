/** Logging in to the console at a real OpenID provider, and everything that could go wrong on the way. */
import { operation, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createStepClock, type Site, startSite } from '../scenarios/server.ts'
import { browse, CLIENT, type OAuthServer, startOAuthServer } from '../security/oauth-server.ts'

const whose = operation('v1:it.is', { run: (_args, { caller }) => `${caller.issuer}|${caller.subject}` })

type Oidc = NonNullable<NonNullable<Exclude<ServerOptions['console'], false>>['oidc']>

interface Provided {
  site: Site
  provider: OAuthServer
}

async function open(oidc: Partial<Oidc> = {}, more: Partial<ServerOptions> = {}): Promise<Provided> {
  const provider = await startOAuthServer()
  const site = await startSite({
    operations: [whose],
    ...more,
    console: {
      oidc: {
        issuer: provider.issuer,
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        allowInsecure: true,
        name: 'Example login',
        callerOf: ({ sub }) => ({ subject: String(sub), scopes: ['callplane:read'] }),
        ...oidc,
      },
    },
  })
  provider.register(`${site.url}/console/oidc/callback`)
  return { site, provider }
}

async function post(site: Site, path: string, body: object, headers: Record<string, string> = {}) {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  const response = await site.request(path, init)
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

async function begin(site: Site, returnTo = '#/runs?f=state%3Aerror'): Promise<{ url: string; proof: string }> {
  const { status, body } = await post(site, '/console/oidc', { returnTo })
  expect(status).toBe(200)
  return body as { url: string; proof: string }
}

/** The person logs in. Returns the parameters in the fragment of the page where the browser ends up. */
async function visit(url: string, options?: Parameters<typeof browse>[1]): Promise<URLSearchParams & { at: URL }> {
  const { url: last } = await browse(url, options)
  const at = new URL(last)
  return Object.assign(new URLSearchParams(at.hash.replace(/^#\/login\?/, '')), { at })
}

test('a person logs in at the provider, and the session is theirs', async () => {
  const { site, provider } = await open()

  const { url, proof } = await begin(site)
  const arrived = await visit(url)
  const { status, body } = await post(site, '/console/session', { code: arrived.get('code') ?? '', proof })

  expect(await (await site.request('/console/session')).json()).toEqual({
    ways: ['none', 'code', 'oidc'],
    oidc: { name: 'Example login' },
  })
  expect([arrived.at.origin + arrived.at.pathname, arrived.get('to')]).toEqual([
    `${site.url}/console/`,
    '#/runs?f=state%3Aerror',
  ])
  expect([status, body.scopes, body.mode]).toEqual([201, ['callplane:read'], 'read-write'])
  const headers = { Authorization: `Bearer ${body.session}` }
  expect((await site.call('v1:it.is', {}, undefined, { headers })).body.result).toBe(`${provider.issuer}|ada`)
  const told = JSON.stringify([url, proof, arrived.at.href, body])
  for (const token of provider.issued) expect(told).not.toContain(token)
})

test('the request to the provider has PKCE with S256, a state, a nonce and the address of this server', async () => {
  const { site, provider } = await open({ scopes: ['calendar.read'] })

  const [first, second] = [new URL((await begin(site)).url), new URL((await begin(site)).url)]

  const { searchParams: asked } = first
  expect(Object.fromEntries(asked)).toMatchObject({
    response_type: 'code',
    client_id: CLIENT.id,
    redirect_uri: `${site.url}/console/oidc/callback`,
    scope: 'openid calendar.read',
    code_challenge_method: 'S256',
  })
  expect(first.origin).toBe(provider.issuer)
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(asked.get(name)).toMatch(/^[\w-]{43}$/)
    expect(asked.get(name)).not.toBe(second.searchParams.get(name))
  }
})

test("people become callers as auth.jwt says for the provider's tokens, if there is no other rule", async () => {
  const provider = await startOAuthServer()
  const { issuer } = provider
  const site = await startSite({
    operations: [whose],
    auth: { jwt: [{ issuer, audience: 'api', key: { secret: 'a secret that no token here is signed with' } }] },
    console: { oidc: { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, allowInsecure: true } },
  })
  provider.register(`${site.url}/console/oidc/callback`)

  const { url, proof } = await begin(site)
  const { body } = await post(site, '/console/session', { code: (await visit(url)).get('code') ?? '', proof })

  const headers = { Authorization: `Bearer ${body.session}` }
  expect((await site.call('v1:it.is', {}, undefined, { headers })).body.result).toBe(`${issuer}|ada`)
})

describe('refused', () => {
  test('a person who declines, and one whom the application does not know', async () => {
    const { site } = await open({ callerOf: ({ sub }) => (sub === 'ada' ? { subject: 'ada' } : undefined) })

    const declined = await visit((await begin(site)).url, { declines: true })
    const unknown = await visit((await begin(site)).url, { login: 'mallory' })

    expect([declined.get('error'), declined.get('code')]).toEqual(['denied', null])
    expect([unknown.get('error'), unknown.get('code')]).toEqual(['forbidden', null])
  })

  test('a code in the browser of somebody who did not begin the login', async () => {
    const { site } = await open()
    const mallory = await begin(site)
    const victim = await begin(site)
    const code = async () => (await visit(mallory.url, { login: 'mallory' })).get('code') ?? ''

    expect((await post(site, '/console/session', { code: await code() })).status).toBe(401)
    const other = await begin(site)
    const stolen = (await visit(other.url)).get('code') ?? ''
    expect((await post(site, '/console/session', { code: stolen, proof: victim.proof })).status).toBe(401)
    // The try has used it up.
    expect((await post(site, '/console/session', { code: stolen, proof: other.proof })).status).toBe(401)
  })

  test('a redirect that comes twice, late, or without a login', async () => {
    const clock = createStepClock(Date.now())
    const { site } = await open({}, { clock })
    const callback = `${site.url}/console/oidc/callback`
    const { url } = await begin(site)
    const { at: redirect } = await visit(url, { stopAt: callback })
    const follow = async (address: string | URL) =>
      (await fetch(address, { redirect: 'manual' })).headers.get('location')

    const [first, again] = [await follow(redirect), await follow(redirect)]
    const late = await visit((await begin(site)).url, { stopAt: callback })
    clock.advance(600_000)

    expect(first).toMatch(/^\.\.\/#\/login\?code=cpc_/)
    expect(again).toBe('../#/login?error=expired')
    expect(await follow(late.at)).toBe('../#/login?error=expired')
    expect(await follow(callback)).toBe('../#/login?error=expired')
    expect(await follow(`${callback}?state=x&code=y`)).toBe('../#/login?error=expired')
  })

  test('a redirect that another issuer sent, or whose code belongs to another login', async () => {
    const { site } = await open()
    const callback = `${site.url}/console/oidc/callback`
    const redirectOf = async () => (await visit((await begin(site)).url, { stopAt: callback })).at
    const follow = async (address: URL) => (await fetch(address, { redirect: 'manual' })).headers.get('location')

    const mixedUp = await redirectOf()
    mixedUp.searchParams.set('iss', 'https://evil.example')
    const [one, other] = [await redirectOf(), await redirectOf()]
    // The code of one login with the state of another: PKCE and the nonce do not match.
    one.searchParams.set('code', other.searchParams.get('code') ?? '')

    expect(await follow(mixedUp)).toMatch(/^\.\.\/#\/login\?error=failed/)
    expect(await follow(one)).toMatch(/^\.\.\/#\/login\?error=failed/)
  })

  test.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '#//evil.example\r\nSet-Cookie: a=b',
    '#runs',
    `#/${'x'.repeat(3000)}`,
  ])('a place outside of the console: %j', async (returnTo) => {
    const { site } = await open()

    expect((await post(site, '/console/oidc', { returnTo })).status).toBe(400)
  })

  test('more logins than people begin', async () => {
    const { site } = await open({}, { clock: createStepClock(Date.now()) })
    const statuses: number[] = []
    for (let n = 0; n < 101; n++) statuses.push((await post(site, '/console/oidc', { returnTo: '#/' })).status)

    expect(statuses.slice(0, 100)).toEqual(Array(100).fill(200))
    expect(statuses.at(-1)).toBe(429)
  })

  test('a page of another site, and a provider that is down', async () => {
    const { site, provider } = await open()
    const evil = { Origin: 'https://evil.example' }

    expect((await post(site, '/console/oidc', { returnTo: '#/' }, evil)).status).toBe(403)
    provider.down = true
    const { status, body } = await post(site, '/console/oidc', { returnTo: '#/' })
    expect([status >= 500, JSON.stringify(body)]).toEqual([true, expect.not.stringContaining(CLIENT.secret)])
  })
})

test.each([
  ['an address without https', { issuer: 'http://login.example' }],
  ['no address', { issuer: 'login' }],
  ['no client', { clientId: '' }],
  ['no rule for callers', { callerOf: undefined }],
  ['a rule that is no function', { callerOf: 'sub' }],
  ['a misspelt option', { clientID: 'x' }],
  ['a secret that is not set', { clientSecret: { env: 'CALLPLANE_TEST_NO_SUCH_VARIABLE' } }],
])('the server does not start with %s', async (_, wrong) => {
  const oidc = { issuer: 'https://login.example', clientId: 'x', callerOf: () => undefined, ...wrong }

  await expect(startSite({ operations: [whose], console: { oidc: oidc as Oidc } })).rejects.toThrow(/console\.oidc/)
})
