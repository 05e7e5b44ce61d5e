import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type JWTPayload, SignJWT } from 'jose'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import { Fault } from '../../src/core/fault.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { createAuthenticator, type JwtKey, type JwtRules } from '../../src/security/identity/identify.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'

const remote = createRemoteClient()
afterAll(() => remote.close())

const ISSUER = 'https://login.example'
const AUDIENCE = 'https://calls.example'
const START = Date.parse('2026-05-01T12:00:00Z')

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
// Long enough for HS512 as well, so that only the rule about algorithms can refuse that.
const secret = randomBytes(64)

const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

interface Signing {
  key?: KeyObject | Uint8Array
  alg?: string
  kid?: string
  issuer?: string
  audience?: string
  expiresInSeconds?: number | 'never'
  claims?: JWTPayload
}

async function signToken(options: Signing = {}): Promise<string> {
  const { key = secret, alg = 'HS256', kid, issuer = ISSUER, audience = AUDIENCE, expiresInSeconds = 600 } = options
  const now = START / 1000
  const jwt = new SignJWT({ sub: 'ada', scope: 'orders:read orders:write', ...options.claims })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .setIssuer(issuer)
    .setAudience(audience)
  if (expiresInSeconds !== 'never') jwt.setExpirationTime(now + expiresInSeconds)
  return jwt.sign(key)
}

const bearer = (token: string) => (name: string) => (name === 'authorization' ? `Bearer ${token}` : undefined)

function authenticatorWith(key: JwtKey, rules: Partial<JwtRules> = {}) {
  const clock = { time: START, setMs: 0, now: () => clock.time + clock.setMs, monotonicMs: () => clock.time }
  const { authenticate } = createAuthenticator(
    { jwt: [{ issuer: ISSUER, audience: AUDIENCE, key, ...rules }] },
    clock,
    remote,
  )
  return { clock, authenticate: (token: string) => authenticate(bearer(token)) }
}

/** The fault a token is refused with, thrown at once or later. */
async function refusal(answer: () => unknown): Promise<Fault> {
  try {
    await answer()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(Fault)
    return thrown as Fault
  }
  throw new Error('the token was accepted')
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A real issuer's key endpoint, whose keys and health the test changes. */
async function serveKeys(keys: JsonObject[]) {
  const issuer = { keys, healthy: true, requests: 0, url: '' }
  const server = createServer((_request, response) => {
    issuer.requests++
    if (!issuer.healthy) return response.writeHead(500).end()
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: issuer.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return issuer
}

async function publicJwk(key: KeyObject, kid: string): Promise<JsonObject> {
  return { ...((await exportJWK(key)) as JsonObject), kid, use: 'sig' }
}

describe('a token signed with the configured key', () => {
  const kinds: [string, JwtKey, KeyObject | Uint8Array][] = [
    ['HS256', { secret }, secret],
    ['RS256', { publicKey: pem(rsa.publicKey) }, rsa.privateKey],
    ['ES256', { publicKey: pem(ec.publicKey) }, ec.privateKey],
    ['EdDSA', { publicKey: pem(ed.publicKey) }, ed.privateKey],
    ['ES256', { jwk: ec.publicKey.export({ format: 'jwk' }) as JsonObject }, ec.privateKey],
    ['RS256', { jwks: { keys: [rsa.publicKey.export({ format: 'jwk' }) as JsonObject] } }, rsa.privateKey],
  ]
  test.each(kinds)('names its caller: %s', async (alg, key, signingKey) => {
    const { authenticate } = authenticatorWith(key)

    const caller = await authenticate(await signToken({ alg, key: signingKey, claims: { department: 'sales' } }))

    expect(caller).toEqual({
      tenant: 'main',
      issuer: ISSUER,
      subject: 'ada',
      scopes: ['orders:read', 'orders:write'],
      claims: { department: 'sales' },
    })
  })
})

describe('a token that is not right', () => {
  const cases: [string, () => string | Promise<string>][] = [
    ['signed with another secret', () => signToken({ key: randomBytes(32) })],
    ['of another audience', () => signToken({ audience: 'https://other.example' })],
    ['of another issuer', () => signToken({ issuer: 'https://evil.example' })],
    ['without an expiry', () => signToken({ expiresInSeconds: 'never' })],
    ['not yet valid', () => signToken({ claims: { nbf: START / 1000 + 60 } })],
    ['with an empty subject', () => signToken({ claims: { sub: '' } })],
    ['of another algorithm with the same secret', () => signToken({ alg: 'HS512' })],
    ['with changed claims', async () => tamper(await signToken())],
    ['without a signature (alg none)', unsigned],
    ['that is not a token', () => 'not.a-token.at-all'],
  ]
  test.each(cases)('is refused and not echoed: %s', async (_case, make) => {
    const { authenticate } = authenticatorWith({ secret })
    const token = await make()

    const fault = await refusal(() => authenticate(token))

    expect(fault).toMatchObject({ kind: 'unauthenticated', code: 'AUTH_REQUIRED', details: undefined })
    const everything = `${fault.message} ${fault.stack} ${JSON.stringify(fault.toRecord())} ${String(fault.cause)}`
    expect(everything).not.toContain(token)
    expect(everything).not.toContain(token.split('.')[1])
  })

  test('that has expired is refused with the reason', async () => {
    const { authenticate } = authenticatorWith({ secret })
    const fault = await refusal(async () => authenticate(await signToken({ expiresInSeconds: -10 })))
    expect(fault).toMatchObject({ kind: 'unauthenticated', details: { reason: 'expired' } })
  })

  test('and uses the RSA public key as an HMAC secret is refused', async () => {
    const publicKey = pem(rsa.publicKey)
    const { authenticate } = authenticatorWith({ publicKey })
    const forged = await signToken({ alg: 'HS256', key: Buffer.from(publicKey) })
    expect((await refusal(() => authenticate(forged))).kind).toBe('unauthenticated')
  })
})

test('a clock that is a little off is tolerated, and only a little', async () => {
  const { authenticate, clock } = authenticatorWith({ secret }, { clockToleranceSeconds: 30 })
  const token = await signToken({ expiresInSeconds: 0 })
  clock.time = START + 29_000
  expect(await authenticate(token)).toMatchObject({ subject: 'ada' })
  clock.time = START + 31_000
  expect((await refusal(() => authenticate(token))).details).toEqual({ reason: 'expired' })
})

test('a token seen before is answered at once, until it expires', async () => {
  const { authenticate, clock } = authenticatorWith({ secret }, { clockToleranceSeconds: 0 })
  const token = await signToken({ expiresInSeconds: 60 })
  const first = authenticate(token)
  expect(first).toBeInstanceOf(Promise)
  await first

  clock.time = START + 59_999
  expect((authenticate(token) as Caller).subject).toBe('ada')
  clock.time = START + 60_000
  expect(() => authenticate(token)).toThrow(expect.objectContaining({ details: { reason: 'expired' } }))
})

test('a remembered token does not vouch for one with another signature', async () => {
  const { authenticate } = authenticatorWith({ secret })
  const token = await signToken()
  await authenticate(token)
  const [header, payload] = token.split('.')
  const forged = `${header}.${payload}.${randomBytes(32).toString('base64url')}`
  expect((await refusal(() => authenticate(forged))).kind).toBe('unauthenticated')
})

test('a long-lived token is verified again after five minutes, so that a withdrawn key stops working', async () => {
  const issuer = await serveKeys([await publicJwk(rsa.publicKey, 'one')])
  const { authenticate, clock } = authenticatorWith({ jwksUrl: issuer.url, cooldownMs: 0, maxAgeMs: 0 })
  const token = await signToken({ alg: 'RS256', key: rsa.privateKey, kid: 'one', expiresInSeconds: 36_000 })
  await authenticate(token)

  issuer.keys = [await publicJwk(ec.publicKey, 'two')]
  clock.time = START + 299_999
  expect((authenticate(token) as Caller).subject).toBe('ada')
  clock.time = START + 300_000
  expect((await refusal(() => authenticate(token))).kind).toBe('unauthenticated')
})

describe('keys behind a URL', () => {
  test('are fetched once for many callers, and again when a new key id appears', async () => {
    const issuer = await serveKeys([await publicJwk(rsa.publicKey, 'one')])
    const { authenticate } = authenticatorWith({ jwksUrl: issuer.url, cooldownMs: 0 })
    const tokens = await Promise.all(
      ['a', 'b', 'c'].map((sub) => signToken({ alg: 'RS256', key: rsa.privateKey, kid: 'one', claims: { sub } })),
    )
    const callers = await Promise.all(tokens.map(authenticate))
    expect(callers.map((caller) => caller?.subject)).toEqual(['a', 'b', 'c'])
    expect(issuer.requests).toBe(1)

    issuer.keys = [await publicJwk(ec.publicKey, 'two')]
    const rotated = await signToken({ alg: 'ES256', key: ec.privateKey, kid: 'two' })
    expect(await authenticate(rotated)).toMatchObject({ subject: 'ada' })
    expect(issuer.requests).toBe(2)
  })

  test('are not fetched again and again for unknown key ids', async () => {
    const issuer = await serveKeys([await publicJwk(rsa.publicKey, 'one')])
    const { authenticate } = authenticatorWith({ jwksUrl: issuer.url })
    for (const kid of ['x', 'y', 'z']) {
      const token = await signToken({ alg: 'RS256', key: rsa.privateKey, kid })
      expect((await refusal(() => authenticate(token))).kind).toBe('unauthenticated')
    }
    expect(issuer.requests).toBe(1)
  })

  test('are fetched again after the clock was set back, without waiting for the old time', async () => {
    const issuer = await serveKeys([await publicJwk(rsa.publicKey, 'one')])
    const { authenticate, clock } = authenticatorWith({ jwksUrl: issuer.url, maxAgeMs: 600_000, cooldownMs: 600_000 })
    await authenticate(await signToken({ alg: 'RS256', key: rsa.privateKey, kid: 'one' }))

    issuer.keys = [await publicJwk(ec.publicKey, 'two')]
    clock.setMs = -3_600_000

    const rotated = await signToken({ alg: 'ES256', key: ec.privateKey, kid: 'two' })
    expect(await authenticate(rotated)).toMatchObject({ subject: 'ada' })
  })

  test('that fit a token without a key id are tried one after the other', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const issuer = await serveKeys([await publicJwk(other.publicKey, 'one'), await publicJwk(rsa.publicKey, 'two')])
    const { authenticate } = authenticatorWith({ jwksUrl: issuer.url })
    expect(await authenticate(await signToken({ alg: 'RS256', key: rsa.privateKey }))).toMatchObject({ subject: 'ada' })
  })

  test("that cannot be fetched are our trouble, not the caller's; the issuer is left in peace for a while", async () => {
    const issuer = await serveKeys([await publicJwk(rsa.publicKey, 'one')])
    issuer.healthy = false
    const { authenticate, clock } = authenticatorWith({ jwksUrl: issuer.url, cooldownMs: 10_000 })
    const token = await signToken({ alg: 'RS256', key: rsa.privateKey, kid: 'one' })

    const fault = await refusal(() => authenticate(token))
    expect(fault).toMatchObject({ kind: 'unavailable', retryable: true, retryAfterMs: 10_000 })
    await refusal(() => authenticate(token))
    expect(issuer.requests).toBe(1)

    issuer.healthy = true
    clock.time += 10_000
    expect(await authenticate(token)).toMatchObject({ subject: 'ada' })
  })
})

test('two rules for one issuer let it move from one key to the next', async () => {
  const rule = { issuer: ISSUER, audience: AUDIENCE }
  const jwt = [
    { ...rule, key: { publicKey: pem(rsa.publicKey) } },
    { ...rule, key: { publicKey: pem(ec.publicKey) } },
  ]
  const { authenticate } = createAuthenticator({ jwt }, { now: () => START, monotonicMs: () => 0 }, remote)
  const old = await signToken({ alg: 'RS256', key: rsa.privateKey, claims: { sub: 'old' } })
  const next = await signToken({ alg: 'ES256', key: ec.privateKey, claims: { sub: 'next' } })
  expect(await authenticate(bearer(old))).toMatchObject({ subject: 'old' })
  expect(await authenticate(bearer(next))).toMatchObject({ subject: 'next' })
})

test.each([
  ['scp', { scope: undefined, scp: ['a', 'b'] }],
  ['scopes', { scope: undefined, scopes: ['a', 'b', 7, ''] }],
  ['scope', { scope: 'a  b' }],
])('scopes are read from %s', async (_claim, claims) => {
  const { authenticate } = authenticatorWith({ secret })
  expect((await authenticate(await signToken({ claims })))?.scopes).toEqual(['a', 'b'])
})

test('scopes are read from the claims that were named, by name or path, all of them together', async () => {
  const claims = {
    scope: 'a',
    permissions: ['b', 7],
    realm_access: { roles: ['c', 'b'] },
    'https://x.example/roles': 'd e',
  }
  const scopeClaims = ['permissions', ['realm_access', 'roles'], 'https://x.example/roles', ['scope', 'length'], 'none']
  const { authenticate } = authenticatorWith({ secret }, { scopeClaims })

  expect((await authenticate(await signToken({ claims })))?.scopes).toEqual(['b', 'c', 'd', 'e'])
  expect(() => authenticatorWith({ secret }, { scopeClaims: [] })).toThrow('scopeClaims')
  expect(() => authenticatorWith({ secret }, { scopeClaims: [['a', '']] })).toThrow('scopeClaims')
})

test('the tenant comes from the claim that was named, and a token without it is not let into the default one', async () => {
  const { authenticate } = authenticatorWith({ secret }, { tenantClaim: 'org' })
  expect((await authenticate(await signToken({ claims: { org: 'acme' } })))?.tenant).toBe('acme')
  expect((await refusal(async () => authenticate(await signToken()))).kind).toBe('unauthenticated')
})

test('keys are not fetched from where no request may go', async () => {
  const { authenticate } = authenticatorWith({ jwksUrl: 'https://169.254.169.254/keys' })

  const fault = await refusal(async () => authenticate(await signToken({ key: rsa.privateKey, alg: 'RS256' })))

  expect(fault).toMatchObject({ code: 'AUTH_KEYS_UNAVAILABLE', cause: { cause: { code: 'TARGET_REFUSED' } } })
})

describe('a shared secret, as OXP and OTC have it', () => {
  const sign = (claims: JWTPayload) =>
    new SignJWT({ exp: START / 1000 + 600, ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(secret)
  const withSecret = (rules: Partial<JwtRules>) => {
    const { authenticate } = createAuthenticator(
      { jwt: [{ key: { secret }, ...rules }] },
      { now: () => START, monotonicMs: () => 0 },
      remote,
    )
    return (token: string) => authenticate(bearer(token))
  }

  test('a token needs nothing but an expiry, where the rule names who calls', async () => {
    const authenticate = withSecret({ subject: 'gateway' })

    const callers = await Promise.all(
      [{}, { sub: 'root', iss: ISSUER, aud: 'other' }].map(async (claims) => authenticate(await sign(claims))),
    )

    const gateway = { tenant: 'main', issuer: 'shared-secret', subject: 'gateway', scopes: [] }
    expect(callers).toEqual([gateway, gateway])
    const endless = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(secret)
    expect((await refusal(() => authenticate(endless))).kind).toBe('unauthenticated')
    const expired = await sign({ exp: START / 1000 - 10 })
    expect((await refusal(() => authenticate(expired))).details).toEqual({ reason: 'expired' })
  })

  test('an audience is checked where both sides have one', async () => {
    const authenticate = withSecret({ audience: AUDIENCE })

    expect(await authenticate(await sign({ sub: 'ada' }))).toMatchObject({ subject: 'ada' })
    expect(await authenticate(await sign({ sub: 'ada', aud: ['x', AUDIENCE] }))).toMatchObject({ subject: 'ada' })
    for (const aud of ['https://other.example', [], '']) {
      const elsewhere = await sign({ sub: 'ada', aud })
      expect((await refusal(() => authenticate(elsewhere))).kind).toBe('unauthenticated')
    }
  })

  test('without a fixed subject a token says who calls, and never of which issuer', async () => {
    const authenticate = withSecret({})

    expect(await authenticate(await sign({ sub: 'ada', iss: ISSUER }))).toMatchObject({
      issuer: 'shared-secret',
      subject: 'ada',
    })
    const nobody = await sign({})
    expect((await refusal(() => authenticate(nobody))).kind).toBe('unauthenticated')
  })

  test('it does not replace an issuer that has its own rule', async () => {
    const key = { publicKey: pem(rsa.publicKey) }
    const jwt = [{ key: { secret } }, { issuer: ISSUER, audience: AUDIENCE, key }]
    const { authenticate } = createAuthenticator({ jwt }, { now: () => START, monotonicMs: () => 0 }, remote)

    const forged = await signToken()
    const issued = await signToken({ alg: 'RS256', key: rsa.privateKey })

    expect((await refusal(() => authenticate(bearer(forged)))).kind).toBe('unauthenticated')
    expect(await authenticate(bearer(issued))).toMatchObject({ issuer: ISSUER })
  })

  test.each([
    ['no issuer', { audience: AUDIENCE }, /jwt\[0\]\.issuer must be/],
    ['no audience', { issuer: ISSUER }, /jwt\[0\]\.audience must be/],
    ['a fixed subject', { issuer: ISSUER, audience: AUDIENCE, subject: 'ada' }, /needs a shared secret/],
  ])('any other key is refused with %s', (_case, rules, message) => {
    const jwt = [{ ...rules, key: { publicKey: pem(rsa.publicKey) } }]
    expect(() => createAuthenticator({ jwt }, { now: () => START, monotonicMs: () => 0 }, remote)).toThrow(message)
  })
})

describe('a configuration that would be unsafe is refused at the start', () => {
  const cases: [string, Partial<JwtRules>, RegExp][] = [
    ['a short secret', { key: { secret: 'correct horse' } }, /13 bytes; HS256 needs 32/],
    ['a private key', { key: { publicKey: pemOfPrivate() } }, /private key/],
    ['an RSA key of 1024 bits', { key: { publicKey: weakKey() } }, /2048 bits/],
    ['a file that is not a key', { key: { publicKey: 'hello' } }, /cannot be read as a key/],
    ['keys over plain http', { key: { jwksUrl: 'http://login.example/jwks' } }, /https/],
    ['no audience', { audience: [] }, /audience/],
    ['the issuer of static tokens', { issuer: 'callplane' }, /issuer/],
    ['the reserved issuer of shared secrets', { issuer: 'shared-secret' }, /issuer/],
    ['an empty subject', { subject: '' }, /subject/],
  ]
  test.each(cases)('%s', (_case, rules, message) => {
    expect(() => authenticatorWith({ secret }, rules)).toThrow(message)
  })
})

function tamper(token: string): string {
  const [header, payload, signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')
  return `${header}.${changed}.${signature}`
}

function unsigned(): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', exp: START / 1000 + 600 }
  return `${encode({ alg: 'none' })}.${encode(claims)}.`
}

function pemOfPrivate(): string {
  return rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function weakKey(): string {
  return pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)
}
