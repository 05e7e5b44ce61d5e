/**
 * The credentials sent to remote tools: built from secrets that are read each time, and from access tokens of a real
 * endpoint.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { type AuthBinding, type AuthDeclaration, parseAuth } from '../../src/core/operation/credential.ts'
import type { Secret } from '../../src/core/ports/secrets.ts'
import { CODES, codeOf } from '../../src/protocols/contract/faults.ts'
import { createCredentials } from '../../src/security/credentials/credentials.ts'
import type { TokenEndpointRules } from '../../src/security/credentials/token-endpoint-rules.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sendWithCredential } from '../../src/wire/send-with-credential.ts'
import { verifies } from '../requirements.ts'

const { signal } = new AbortController()

/** A token endpoint on loopback. It counts, and answers with `answer`; while `held` it does not answer yet. */
async function startEndpoint() {
  const asked: { authorization: string | undefined; form: URLSearchParams }[] = []
  const arrivals: (() => void)[] = []
  const endpoint = {
    asked,
    status: 200,
    headers: {} as Record<string, string>,
    answer: (count: number): unknown => ({
      access_token: `token-number-${count}`,
      token_type: 'Bearer',
      expires_in: 90,
    }),
    held: undefined as Promise<void> | undefined,
    arrived: () => new Promise<void>((resolve) => arrivals.push(resolve)),
    url: '',
  }
  const http = createServer(async (request, response) => {
    asked.push({ authorization: request.headers.authorization, form: new URLSearchParams(await text(request)) })
    const count = asked.length
    for (const arrived of arrivals.splice(0)) arrived()
    await endpoint.held
    const answer = endpoint.answer(count)
    response.writeHead(endpoint.status, { 'Content-Type': 'application/json', ...endpoint.headers })
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  endpoint.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/token`
  return endpoint
}

function create(secrets: Record<string, Secret>, tokenEndpoints: Record<string, TokenEndpointRules> = {}) {
  const clock = createManualClock()
  const remote = createRemoteClient()
  onTestFinished(() => remote.close())
  const concealed = new Set<string>()
  const conceal = (value: string) => {
    concealed.add(value)
    return value
  }
  const source = { resolve: async (name: string) => secrets[name] ?? {} }
  const credentials = createCredentials({ secrets: source, remote, clock, tokenEndpoints })
  return {
    clock,
    concealed,
    resolve: (auth: AuthDeclaration, stop = signal) => credentials.resolve(parseAuth(auth), conceal, stop),
  }
}

async function withEndpoint(rules: TokenEndpointRules = {}) {
  const endpoint = await startEndpoint()
  const secrets: Record<string, Secret> = { crm: { fields: { client_id: 'me:x', client_secret: 'a +secret/1' } } }
  const made = create(secrets, { [endpoint.url]: { allowPrivate: true, ...rules } })
  const auth: AuthBinding = { profile: 'oauth2_client_credentials', secretRef: 'crm', tokenURL: endpoint.url }
  return { endpoint, secrets, auth, ...made }
}

const bearer = (count: number) => ({ Authorization: `Bearer token-number-${count}` })

test('bearer, api_key_header and basic put the secret where the tool looks for it, concealed before', async () => {
  verifies('contract:086', 'contract:087', 'contract:088', 'contract:093', 'contract:094', 'contract:095')
  const secrets: Record<string, Secret> = {
    token: { value: 'the-token' },
    mounted: { fields: { 'api-key': 'the-key' } },
    pair: { value: 'ann:pass:wörd' },
    both: { fields: { username: 'ann', password: 'pass:wörd' } },
  }
  const { resolve, concealed } = create(secrets)
  const pair = Buffer.from('ann:pass:wörd').toString('base64')

  const shown = await Promise.all([
    resolve({ secretRef: 'token' }),
    resolve({ profile: 'api_key_header', secretRef: 'mounted', headerName: 'X-Api-Key' }),
    resolve({ profile: 'basic', secretRef: 'pair' }),
    resolve({ profile: 'basic', secretRef: 'both' }),
  ])

  expect(shown.map(({ headers }) => headers)).toEqual([
    { Authorization: 'Bearer the-token' },
    { 'X-Api-Key': 'the-key' },
    { Authorization: `Basic ${pair}` },
    { Authorization: `Basic ${pair}` },
  ])
  expect(shown.map((credential) => credential.refused())).toEqual([false, false, false, false])
  expect([...concealed].sort()).toEqual([pair, 'ann:pass:wörd', 'pass:wörd', 'the-key', 'the-token'].sort())
  secrets.token = { value: 'rotated' }
  expect((await resolve({ secretRef: 'token' })).headers).toEqual({ Authorization: 'Bearer rotated' })
})

test('a secret that does not fit its profile, or a profile that lacks a setting, says what to change', async () => {
  verifies('contract:089', 'contract:090', 'contract:091', 'contract:110')
  const { resolve } = create({
    lines: { value: 'hunter2\r\nX-Evil: 1' },
    several: { fields: { a: 'hunter2', b: 'hunter2' } },
    single: { value: 'hunter2' },
  })
  const tokenURL = 'https://auth.example.com/token'
  const unfit: AuthDeclaration[] = [
    { secretRef: 'lines' },
    { secretRef: 'several' },
    { secretRef: 'absent' },
    { profile: 'basic', secretRef: 'single' },
    { profile: 'oauth2_client_credentials', secretRef: 'single', tokenURL },
  ]
  for (const auth of unfit) {
    const fault = (await resolve(auth).catch((thrown: unknown) => thrown)) as Fault
    expect(fault).toMatchObject({ kind: 'secret-missing', retryable: false, details: { secret_ref: auth.secretRef } })
    expect(`${JSON.stringify(fault)}${fault.stack}`).not.toContain('hunter2')
  }
  expect(() => parseAuth({ secretRef: ' ' })).toThrow(/auth\.secretRef is missing/)
  expect(() => parseAuth({ profile: 'api_key_header', secretRef: 'a' })).toThrow(/auth\.headerName is missing/)
  expect(() => parseAuth({ profile: 'oauth2_client_credentials', secretRef: 'a' })).toThrow(/auth\.tokenURL is missing/)
})

test('client credentials are exchanged for a token, in the header or in the body', async () => {
  verifies('contract:092', 'contract:096')
  const basic = await withEndpoint()
  const post = await withEndpoint({ clientAuth: 'post', parameters: { audience: 'orders' } })

  const shown = await basic.resolve({ ...basic.auth, scopes: ['b', 'a'] })
  await post.resolve(post.auth)

  // RFC 6749, section 2.3.1: form-encoded, then joined.
  const pair = Buffer.from('me%3Ax:a+%2Bsecret%2F1').toString('base64')
  expect(shown.headers).toEqual(bearer(1))
  expect(basic.endpoint.asked).toMatchObject([{ authorization: `Basic ${pair}` }])
  expect(Object.fromEntries(basic.endpoint.asked[0]?.form ?? [])).toEqual({
    grant_type: 'client_credentials',
    scope: 'b a',
  })
  expect([...basic.concealed].sort()).toEqual([pair, 'a +secret/1', 'a+%2Bsecret%2F1', 'token-number-1'].sort())
  expect(post.endpoint.asked[0]?.authorization).toBe(undefined)
  expect(Object.fromEntries(post.endpoint.asked[0]?.form ?? [])).toEqual({
    grant_type: 'client_credentials',
    audience: 'orders',
    client_id: 'me:x',
    client_secret: 'a +secret/1',
  })
})

test.each([
  ['another type', { token_type: 'mac' }, 'not a bearer token'],
  ['a type that needs a proof', { token_type: 'DPoP' }, 'not a bearer token'],
  ['a type that is not text', { token_type: 1 }, 'not a bearer token'],
  ['no token', { access_token: undefined }, 'no usable access_token'],
  ['an empty token', { access_token: '' }, 'no usable access_token'],
  ['a token that fits into no header', { access_token: 'a secret\r\nX-Evil: 1' }, 'no usable access_token'],
])('a token endpoint that responds with %s is reported, without its response', async (_what, wrong, words) => {
  const { endpoint, resolve, auth } = await withEndpoint()
  endpoint.answer = () => ({ access_token: 'the-token-itself', token_type: 'bearer', ...wrong })

  const fault = (await resolve(auth).catch((thrown: unknown) => thrown)) as Fault

  expect(fault).toMatchObject({ kind: 'upstream', message: expect.stringContaining(words) })
  expect(fault.cause).toBeUndefined()
  expect(`${JSON.stringify(fault)}${fault.stack}`).not.toMatch(/the-token-itself|a secret/)
})

test('a client id with dashes and dots is sent as it is, for endpoints that do not decode it', async () => {
  const { endpoint, secrets, resolve, auth } = await withEndpoint()
  secrets.crm = { fields: { client_id: 'my-client.v1_a', client_secret: 'plain-secret' } }
  endpoint.answer = () => '{"access_token":"token-number-1","expires_in":1e999}'

  expect((await resolve(auth)).headers).toEqual(bearer(1))
  const pair = Buffer.from('my-client.v1_a:plain-secret').toString('base64')
  expect(endpoint.asked).toMatchObject([{ authorization: `Basic ${pair}` }])
})

test('a token is used again until 30 s before its end, and one without such a time once', async () => {
  verifies('contract:116', 'contract:117', 'contract:118')
  const { endpoint, resolve, auth, clock } = await withEndpoint()

  const first = await resolve(auth)
  clock.advance(59_999)
  const again = await resolve(auth)
  clock.advance(1)
  const renewed = await resolve(auth)

  expect([first, again, renewed].map(({ headers }) => headers)).toEqual([bearer(1), bearer(1), bearer(2)])
  for (const expires_in of [undefined, 30, 0, -1, 'soon', null]) {
    const once = await withEndpoint()
    once.endpoint.answer = (count) => ({ access_token: `token-number-${count}`, expires_in })
    const shown = [await once.resolve(once.auth), await once.resolve(once.auth)]
    expect(shown.map(({ headers }) => headers)).toEqual([bearer(1), bearer(2)])
    expect(shown.map((credential) => credential.refused())).toEqual([false, false])
  }
  expect(endpoint.asked).toHaveLength(2)
})

test('another secret, other scopes or another endpoint is another token; the order of scopes is not', async () => {
  verifies('contract:115')
  const { endpoint, secrets, resolve, auth } = await withEndpoint()
  await resolve({ ...auth, scopes: ['a', 'b'] })
  await resolve({ ...auth, scopes: ['b', 'a'] })
  await resolve({ ...auth, scopes: ['a'] })
  expect(endpoint.asked).toHaveLength(2)

  secrets.crm = { fields: { client_id: 'me:x', client_secret: 'rotated' } }

  expect((await resolve({ ...auth, scopes: ['a'] })).headers).toEqual(bearer(3))
})

test('concurrent requests share one exchange, and a canceled one does not end it for the others', async () => {
  const { endpoint, resolve, auth } = await withEndpoint()
  const gate = Promise.withResolvers<void>()
  endpoint.held = gate.promise
  const leaving = new AbortController()

  const arrived = endpoint.arrived()
  const left = resolve(auth, leaving.signal)
  const staying = [resolve(auth), resolve(auth)]
  await arrived
  leaving.abort(new Fault('canceled', 'Enough.'))
  await expect(left).rejects.toMatchObject({ kind: 'canceled', message: 'Enough.' })
  gate.resolve()

  expect((await Promise.all(staying)).map(({ headers }) => headers)).toEqual([bearer(1), bearer(1)])
  expect(endpoint.asked).toHaveLength(1)
})

test('when the last one leaves the exchange ends, and the next one starts another', async () => {
  const { endpoint, resolve, auth } = await withEndpoint()
  endpoint.held = new Promise(() => {})
  const leaving = new AbortController()
  const arrived = endpoint.arrived()
  const left = resolve(auth, leaving.signal)
  await arrived
  endpoint.held = undefined

  leaving.abort(new Fault('canceled', 'Enough.'))
  const next = resolve(auth)

  await expect(left).rejects.toMatchObject({ kind: 'canceled' })
  expect((await next).headers).toEqual(bearer(2))
})

test('tokens for a single use are not shared by concurrent requests', async () => {
  const { endpoint, resolve, auth } = await withEndpoint()
  endpoint.answer = (count) => ({ access_token: `token-number-${count}` })

  const shown = await Promise.all([resolve(auth), resolve(auth), resolve(auth)])

  expect(new Set(shown.map(({ headers }) => headers.Authorization)).size).toBe(3)
})

test('a refused token is dropped, and one new token is requested for all its users', async () => {
  verifies('contract:097', 'contract:119')
  const { endpoint, resolve, auth } = await withEndpoint()
  const [one, two] = [await resolve(auth), await resolve(auth)]

  const refused = [one.refused(), one.refused()]
  const fresh = await resolve(auth)
  const late = two.refused()

  expect(refused).toEqual([true, false])
  expect(fresh.headers).toEqual(bearer(2))
  // The late one held the first token; the second stays.
  expect(late).toBe(true)
  expect((await resolve(auth)).headers).toEqual(bearer(2))
  expect(endpoint.asked).toHaveLength(2)
  const sent: string[] = []
  const send = async ({ Authorization = '' }: Readonly<Record<string, string>>) => void sent.push(Authorization)
  await expect(sendWithCredential({ credential: () => resolve(auth) }, send, () => true)).rejects.toMatchObject({
    kind: 'credential-invalid',
    retryable: false,
  })
  expect(sent).toEqual(['Bearer token-number-2', 'Bearer token-number-3'])
})

test('a refusal by the endpoint is final; a failure is retryable, and is reported as expired after a refused token', async () => {
  verifies('contract:097', 'contract:099', 'contract:110')
  const { endpoint, resolve, auth } = await withEndpoint()
  const faultOf = () =>
    resolve(auth).then(
      () => undefined,
      (thrown: Fault) => thrown,
    )
  const quoting = { error: 'invalid_client', error_description: 'no client a +secret/1' }

  Object.assign(endpoint, { status: 401, answer: () => quoting })
  const refused = await faultOf()
  Object.assign(endpoint, { status: 200, answer: () => quoting })
  const refusedWith200 = await faultOf()
  Object.assign(endpoint, { status: 503, headers: { 'Retry-After': '7' } })
  const down = await faultOf()
  Object.assign(endpoint, { headers: { 'Retry-After': '1e300' } })
  const downForEver = await faultOf()
  Object.assign(endpoint, { status: 200, answer: () => '<html>' })
  const garbage = await faultOf()
  Object.assign(endpoint, { status: 302, headers: { Location: 'https://elsewhere.example.com/' } })
  const elsewhere = await faultOf()

  expect(refused).toMatchObject({
    kind: 'credential-invalid',
    retryable: false,
    details: { oauth_error: 'invalid_client' },
  })
  expect(JSON.stringify(refused) + refused?.message).not.toContain('secret/1')
  expect(refusedWith200).toMatchObject({ kind: 'credential-invalid' })
  expect(down).toMatchObject({ kind: 'upstream', retryable: true, retryAfterMs: 7_000 })
  expect(downForEver).toMatchObject({ kind: 'upstream', retryable: true, retryAfterMs: undefined })
  expect(garbage).toMatchObject({ kind: 'upstream', retryable: true })
  expect(elsewhere).toMatchObject({ kind: 'upstream', retryable: false })

  Object.assign(endpoint, { status: 200, answer: () => ({ access_token: 'good-for-now', expires_in: 3600 }) })
  const held = await resolve(auth)
  endpoint.status = 503
  held.refused()
  const [expired, still] = [await faultOf(), await faultOf()]
  expect(expired).toMatchObject({ kind: 'credential-expired', retryable: true })
  expect([codeOf('credential-expired'), CODES.auth_expired.reason]).toEqual(['auth_expired', 'tool_auth_expired'])
  expect(still).toMatchObject({ kind: 'upstream', retryable: true })
})

test('a request to a silent endpoint times out, and an endpoint that is not allowed gets no request', async () => {
  const { endpoint, resolve, auth, clock } = await withEndpoint()
  endpoint.held = new Promise(() => {})
  const arrived = endpoint.arrived()
  const silent = resolve(auth)
  await arrived
  clock.advance(10_000)
  await expect(silent).rejects.toMatchObject({ kind: 'upstream', retryable: true })

  const strict = create({ crm: { fields: { client_id: 'a', client_secret: 'b' } } })
  await expect(strict.resolve(auth)).rejects.toMatchObject({ kind: 'policy-invalid' })
  const secure = { ...auth, tokenURL: endpoint.url.replace('http:', 'https:') }
  await expect(strict.resolve(secure)).rejects.toMatchObject({ kind: 'upstream', retryable: false })
  expect(endpoint.asked).toHaveLength(1)
  expect(() => create({}, { 'no url': {} })).toThrow(/which is not a URL/)
  expect(() => create({}, { 'https://a.example': { clientAut: 'post' } as TokenEndpointRules })).toThrow(
    /no "clientAut"/,
  )
})
