/** Authorizations at providers that deviate from the standard or from their configuration. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import { createAuthorizations } from '../../src/security/consent/authorizations.ts'
import { createOAuthClients } from '../../src/security/consent/oauth.ts'
import type { OAuthProvider } from '../../src/security/consent/provider.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { createVault } from '../../src/security/secrets/vault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createRunEnvironment } from '../../src/testing/run-operation/run-environment.ts'
import { temporaryFolder } from '../stores/folder.ts'

const ADA: Caller = { tenant: 'main', issuer: 'tokens', subject: 'ada', scopes: [] }
const ORIGIN = 'https://tools.example'

interface Answer {
  status?: number
  headers?: Record<string, string>
  body: unknown
  /** Called when it is asked for; held back until what this returns. */
  hold?: () => Promise<void>
}

/** A token endpoint with scripted responses that records its requests. */
async function startEndpoint(answers: Answer[]) {
  const asked: { authorization: string | undefined; form: Record<string, string> }[] = []
  const http = createServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await text(request)))
    asked.push({ authorization: request.headers.authorization, form })
    const { status = 200, headers = {}, body, hold }: Answer = answers.shift() ?? { status: 500, body: {} }
    await hold?.()
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, asked }
}

function openRemote() {
  const remote = createRemoteClient()
  onTestFinished(() => remote.close())
  return remote
}

async function startAuthorizations(answers: Answer[], provider: Partial<OAuthProvider> = {}) {
  const endpoint = await startEndpoint(answers)
  const clock = createManualClock()
  const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock })
  onTestFinished(() => store.close())
  const config = {
    authorizationUrl: `${endpoint.url}/authorize?tenant=1`,
    tokenUrl: `${endpoint.url}/token`,
    clientId: 'us',
    allowInsecure: true,
    ...provider,
  } as OAuthProvider
  const parts = { now: () => clock.now(), remote: openRemote(), conceal: () => {} }
  const clients = createOAuthClients({ providers: { hub: config } }, parts)
  const env = createRunEnvironment([], clock)
  const vault = createVault(store.records, { current: Buffer.alloc(32, 1) })
  const startNode = () => createAuthorizations(clients, { env, vault, anonymous: false })
  const authorizations = startNode()

  /** The query of the person's redirect, in addition to the state. */
  const authorize = async (scopes: string[], answer: Record<string, string> = { code: 'c' }, caller = ADA) => {
    const [challenge] = await authorizations.challenge(caller, [{ id: 'hub', scopes }], ORIGIN)
    const url = new URL(challenge?.url ?? '')
    const query = new URLSearchParams({ ...answer, state: url.searchParams.get('state') ?? '' })
    const done = await authorizations.complete(query.toString())
    const id = challenge?.checkUrl.split('/').at(-2) ?? ''
    return { done, url, status: await authorizations.status(id) }
  }
  return { authorizations, authorize, clock, endpoint, startNode, store }
}

const BEARER = { access_token: 'first-token', token_type: 'bearer' }

test('the request is bound by PKCE and state, and carries what the provider wants besides', async () => {
  const { authorize, endpoint } = await startAuthorizations([{ body: BEARER }], {
    scopes: ['offline'],
    extraParams: { prompt: 'consent' },
    clientSecret: 'p%ss',
  })

  const { url } = await authorize(['read'])

  const params = Object.fromEntries(url.searchParams)
  expect(params).toEqual({
    tenant: '1',
    prompt: 'consent',
    response_type: 'code',
    client_id: 'us',
    redirect_uri: `${ORIGIN}/authorizations/callback`,
    scope: 'offline read',
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  const [exchange] = endpoint.asked
  expect(exchange?.form).toMatchObject({
    grant_type: 'authorization_code',
    code: 'c',
    redirect_uri: params.redirect_uri,
  })
  expect(exchange?.form.code_verifier).toMatch(/^[\w-]{43}$/)
  expect(exchange?.authorization).toBe(`Basic ${btoa('us:p%25ss')}`)
})

test('an ID token that comes along is not looked at', async () => {
  const { authorize } = await startAuthorizations([{ body: { ...BEARER, id_token: 'not.a.token' } }])

  expect(await authorize(['openid'])).toMatchObject({ done: true, status: 'completed' })
})

test('scopes that the provider lists with commas count; fewer than needed are not enough', async () => {
  const { authorizations, authorize } = await startAuthorizations([{ body: { ...BEARER, scope: 'read,list' } }])

  const { done, status } = await authorize(['read', 'write'])

  expect([done, status]).toEqual([false, 'failed'])
  expect(await authorizations.token(ADA, 'hub', ['read', 'list'])).toBe('first-token')
  expect(await authorizations.token(ADA, 'hub', ['write'])).toBe(undefined)
})

test('a token without an end is used without one; one without a renewal is used to its end', async () => {
  const endless = await startAuthorizations([{ body: BEARER }])
  await endless.authorize([])
  endless.clock.advance(10 * 365 * 86_400_000)
  expect(await endless.authorizations.token(ADA, 'hub', [])).toBe('first-token')

  const short = await startAuthorizations([{ body: { ...BEARER, expires_in: 60 } }])
  await short.authorize([])
  short.clock.advance(59_999)
  expect(await short.authorizations.token(ADA, 'hub', [])).toBe('first-token')
  short.clock.advance(1)
  expect(await short.authorizations.token(ADA, 'hub', [])).toBe(undefined)
})

test('an error that comes with 200 is an error, and ends an authorization that cannot be renewed', async () => {
  const refused = await startAuthorizations([{ body: { error: 'bad_verification_code' } }])
  expect(await refused.authorize([])).toMatchObject({ done: false, status: 'failed' })

  const { authorizations, authorize, clock, endpoint } = await startAuthorizations([
    { body: { ...BEARER, expires_in: 60, refresh_token: 'renew-me', scope: 'read' } },
    { body: { error: 'bad_refresh_token' } },
  ])
  await authorize(['read'])
  clock.advance(60_000)
  expect(await authorizations.token(ADA, 'hub', ['read'])).toBe(undefined)
  expect(await authorizations.token(ADA, 'hub', ['read'])).toBe(undefined)
  expect(endpoint.asked.length).toBe(2)
})

test('fields that a renewal omits are kept: the refresh token and the scopes', async () => {
  const { authorizations, authorize, clock, endpoint } = await startAuthorizations([
    { body: { ...BEARER, expires_in: 60, refresh_token: 'renew-me' } },
    { body: { access_token: 'second-token', token_type: 'bearer', expires_in: 60 } },
    { body: { access_token: 'third-token', token_type: 'bearer', expires_in: 60, refresh_token: 'renew-me-2' } },
    { body: { access_token: 'fourth-token', token_type: 'bearer', expires_in: 60, scope: 'other' } },
  ])
  await authorize(['read'])
  const tokens = []
  for (let minute = 0; minute < 3; minute += 1) {
    clock.advance(60_000)
    tokens.push(await authorizations.token(ADA, 'hub', ['read']))
  }

  expect(tokens).toEqual(['second-token', 'third-token', undefined])
  expect(endpoint.asked.map(({ form }) => form.refresh_token)).toEqual([
    undefined,
    'renew-me',
    'renew-me',
    'renew-me-2',
  ])
})

test('a later consent to less takes nothing away, also where it comes without a refresh token', async () => {
  const { authorizations, authorize, clock, endpoint } = await startAuthorizations([
    { body: { ...BEARER, scope: 'read write', expires_in: 60, refresh_token: 'renew-me' } },
    { body: { ...BEARER, access_token: 'smaller', scope: 'read' } },
    { body: { ...BEARER, access_token: 'larger', scope: 'read write list', expires_in: 60 } },
    { body: { ...BEARER, access_token: 'renewed', expires_in: 60 } },
  ])
  const held = () => Promise.all(['read', 'write', 'list'].map((scope) => authorizations.token(ADA, 'hub', [scope])))
  await authorize(['read', 'write'])

  expect(await authorize(['read'])).toMatchObject({ done: true, status: 'completed' })
  expect(await held()).toEqual(['first-token', 'first-token', undefined])

  await authorize(['list'])
  expect(await held()).toEqual(['larger', 'larger', 'larger'])

  // Renewed is what the first consent granted, since the refresh token is from there.
  clock.advance(60_000)
  expect(await authorizations.token(ADA, 'hub', ['write'])).toBe('renewed')
  expect(await held()).toEqual(['renewed', 'renewed', undefined])
  expect(endpoint.asked.at(-1)?.form.refresh_token).toBe('renew-me')
})

test('a consent to fewer or other scopes is stored if the current grant is no longer usable', async () => {
  const { authorizations, authorize, clock } = await startAuthorizations([
    { body: { ...BEARER, scope: 'read write', expires_in: 60 } },
    { body: { ...BEARER, access_token: 'smaller', scope: 'read' } },
    { body: { ...BEARER, access_token: 'other', scope: 'list' } },
  ])
  await authorize(['read', 'write'])
  clock.advance(60_000)

  await authorize(['read'])
  expect(await authorizations.token(ADA, 'hub', ['read'])).toBe('smaller')
  await authorize(['list'])
  expect(await authorizations.token(ADA, 'hub', ['list'])).toBe('other')
})

test('a response that is invalid, too large, or a redirect authorizes nothing', async () => {
  const answers: Answer[] = [
    { body: 'not json' },
    { status: 500, body: {} },
    { status: 307, headers: { Location: '/token' }, body: '' },
    { body: { ...BEARER, padding: 'x'.repeat(2 * 1024 * 1024) } },
    { body: { ...BEARER, token_type: 'mac' } },
    { body: { ...BEARER, access_token: '' } },
    { status: 401, body: { error: 'invalid_client' } },
  ]
  const { authorizations, authorize, endpoint } = await startAuthorizations([...answers])

  for (const _ of answers) expect(await authorize([])).toMatchObject({ done: false, status: 'failed' })

  expect(endpoint.asked.length).toBe(answers.length)
  expect(await authorizations.token(ADA, 'hub', [])).toBe(undefined)
})

test('the code is not sent if the response names another issuer', async () => {
  const { authorize, endpoint } = await startAuthorizations([{ body: BEARER }, { body: BEARER }])

  expect((await authorize([], { code: 'c', iss: 'https://elsewhere.example' })).done).toBe(false)
  expect(endpoint.asked.length).toBe(0)
  expect((await authorize([], { code: 'c', iss: `${endpoint.url}/tenant` })).done).toBe(true)

  const named = await startAuthorizations([{ body: BEARER }, { body: BEARER }], { issuer: 'http://127.0.0.1:1' })
  expect((await named.authorize([], { code: 'c', iss: 'http://127.0.0.1:1/' })).done).toBe(false)
  expect((await named.authorize([], { code: 'c', iss: 'http://127.0.0.1:1' })).done).toBe(true)
})

test('an answer is taken once, also where the provider would take its code again', async () => {
  const { authorizations, endpoint } = await startAuthorizations([{ body: BEARER }, { body: BEARER }])
  const [challenge] = await authorizations.challenge(ADA, [{ id: 'hub' }], ORIGIN)
  const state = new URL(challenge?.url ?? '').searchParams.get('state')

  const taken = await Promise.all([1, 2].map(() => authorizations.complete(`code=c&state=${state}`)))

  expect(taken.sort()).toEqual([false, true])
  expect(endpoint.asked.length).toBe(1)
})

test('if two nodes find an expired token at once, one renews it and the other uses the new token', async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = () => {
    asked.resolve()
    return gate.promise
  }
  const { authorizations, authorize, clock, endpoint, startNode, store } = await startAuthorizations([
    { body: { ...BEARER, expires_in: 60, refresh_token: 'renew-me' } },
    { body: { access_token: 'second-token', token_type: 'bearer', expires_in: 60, refresh_token: 'renew-me-2' }, hold },
    { status: 400, body: { error: 'invalid_grant' } },
  ])
  await authorize([])
  clock.advance(60_000)

  const first = authorizations.token(ADA, 'hub', [])
  await asked.promise
  const second = startNode().token(ADA, 'hub', [])
  // Written after all writes that the second makes before its request.
  await store.records.put('other', '')
  gate.resolve()
  await first
  const tokens = Promise.all([first, second])
  await expect
    .poll(() => {
      clock.advance(100)
      return Promise.race([tokens, 'waits'])
    })
    .toEqual(['second-token', 'second-token'])

  expect(endpoint.asked.filter(({ form }) => form.grant_type === 'refresh_token')).toHaveLength(1)
})

test('a node that is killed while it renews keeps the others from it for a minute', async () => {
  const { authorizations, authorize, clock, startNode } = await startAuthorizations([
    { body: { ...BEARER, expires_in: 60, refresh_token: 'renew-me' } },
    { status: 503, body: {}, hold: () => new Promise(() => {}) },
    { body: { access_token: 'second-token', token_type: 'bearer', refresh_token: 'renew-me-2' } },
  ])
  await authorize([])
  clock.advance(60_000)
  void authorizations.token(ADA, 'hub', []).catch(() => undefined)

  const waiting = startNode().token(ADA, 'hub', [])

  await expect
    .poll(() => {
      clock.advance(5_000)
      return Promise.race([waiting, 'waits'])
    })
    .toBe('second-token')
})

test('a provider that does not answer in time is given up', async () => {
  const http = createServer(() => undefined)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  const tokenUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/token`

  const { authorize } = await startAuthorizations([], { tokenUrl, timeoutMs: 20 })

  expect(await authorize([])).toMatchObject({ done: false, status: 'failed' })
})

test("each of a caller's users has their own, and the caller has none of theirs", async () => {
  const { authorizations, authorize } = await startAuthorizations([
    { body: { ...BEARER, access_token: 'token-of-u1' } },
    { body: { ...BEARER, access_token: 'token-of-u2' } },
  ])
  const [one, two] = [
    { ...ADA, userId: 'u1' },
    { ...ADA, userId: 'u2' },
  ]
  await authorize([], { code: 'c' }, one)
  await authorize([], { code: 'c' }, two)

  const callers = [one, two, ADA, { ...one, subject: 'bob' }, { ...one, tenant: 'other' }, { ...ADA, userId: '' }]
  const tokens = await Promise.all(callers.map((caller) => authorizations.token(caller, 'hub', [])))

  expect(tokens).toEqual(['token-of-u1', 'token-of-u2', undefined, undefined, undefined, undefined])
})

test('the status of a challenge is pending while the store fails', async () => {
  const { authorizations, store } = await startAuthorizations([])
  const [challenge] = await authorizations.challenge(ADA, [{ id: 'hub' }], ORIGIN)
  const id = challenge?.checkUrl.split('/').at(-2) ?? ''

  await store.close()

  expect(await authorizations.status(id)).toBe('pending')
})

test('nothing is asked of a provider that is not configured', async () => {
  const { authorizations } = await startAuthorizations([])

  expect(await authorizations.challenge(ADA, [{ id: 'other' }], ORIGIN)).toEqual([])
  expect(await authorizations.token(ADA, 'other', [])).toBe(undefined)
  expect(await authorizations.status('other')).toBe('failed')
})

test('a provider is not asked where no request may go', async () => {
  const providers = { hub: { issuer: 'https://169.254.169.254', clientId: 'us' } }
  const hub = createOAuthClients({ providers }, { now: () => 0, remote: openRemote(), conceal: () => {} }).get('hub')
  const asked = { state: 's', verifier: 'v', redirectUri: 'https://us.example/authorizations/callback' }

  await expect(hub?.authorizationUrl(asked, [])).rejects.toMatchObject({
    code: 'PROVIDER_UNREACHABLE',
    cause: { code: 'TARGET_REFUSED' },
  })
})

test('a configuration that would be unsafe or cannot work is refused with what to do', () => {
  const good = { authorizationUrl: 'https://a.example/auth', tokenUrl: 'https://a.example/token', clientId: 'us' }
  const wrong = (provider: object, id = 'hub') => {
    const config = { providers: { [id]: provider as OAuthProvider } }
    return () => createOAuthClients(config, { now: () => 0, remote: openRemote(), conceal: () => {} })
  }

  expect(wrong(good)).not.toThrow()
  expect(wrong({ ...good, tokenUrl: 'http://a.example/token' })).toThrow('hub.tokenUrl must be an https address')
  expect(wrong({ ...good, tokenUrl: 'http://a.example/token', allowInsecure: true })).toThrow('https address')
  expect(wrong({ ...good, authorizationUrl: 'http://127.0.0.1/auth' })).toThrow('https address')
  expect(wrong({ issuer: 'a.example', clientId: 'us' })).toThrow('hub.issuer must be an https address')
  expect(wrong({ authorizationUrl: good.authorizationUrl, clientId: 'us' })).toThrow('needs "issuer", or both')
  expect(wrong({ ...good, clientId: '' })).toThrow('clientId is missing')
  expect(wrong({ ...good, clientSecret: { env: 'CALLPLANE_NOT_SET' } })).toThrow('CALLPLANE_NOT_SET, which is not set')
  expect(wrong({ ...good, extraParams: { state: 'fixed' } })).toThrow('cannot set "state"')
  expect(wrong({ ...good, redirectUri: '/callback' })).toThrow('absolute URL')
  expect(wrong(good, 'a/b')).toThrow('"a/b" cannot be the id')
})
