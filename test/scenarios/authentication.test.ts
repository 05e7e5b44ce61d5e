/** Who may call, in which order the checks run, and that a credential is not passed on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createToken, operation, removed } from 'callplane'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { createGate, startSite } from './server.ts'

const ada = createToken()
const bob = createToken()
const AS_ADA = { headers: { Authorization: `Bearer ${ada.token}` } }
const AS_BOB = { headers: { 'X-API-Key': bob.token } }
const auth = {
  tokens: [
    { hash: ada.hash, kind: 'bearer' as const, subject: 'ada', scopes: ['orders:read'] },
    { hash: bob.hash, kind: 'apiKey' as const, subject: 'bob', scopes: [] },
  ],
}

const whoAmI = operation('v1:people.whoAmI', { run: (_args, ctx) => ({ subject: ctx.caller.subject }) })
const readOrder = operation('v1:orders.read', {
  args: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
  scopes: ['orders:read'],
  run: (_args, ctx) => ({ subject: ctx.caller.subject }),
})
const ping = operation('v1:status.ping', { public: true, ttlSeconds: 60, run: (_args, ctx) => ctx.caller.subject })
const keep = operation('v1:notes.keep', { model: 'async', run: (_args, ctx) => ctx.caller.subject })

describe('credentials', () => {
  test('none and a bad one are 401, a good one is its subject, and the header is what counts', async () => {
    verifies('opencall:110', 'opencall:232', 'opencall:299')
    const site = await startSite({ operations: [whoAmI], auth })

    const none = await site.call('v1:people.whoAmI')
    const bad = await site.call('v1:people.whoAmI', {}, undefined, { headers: { Authorization: 'Bearer nonsense' } })
    const basic = await site.call('v1:people.whoAmI', {}, undefined, { headers: { Authorization: 'Basic YTpi' } })
    const good = await site.call('v1:people.whoAmI', {}, undefined, AS_ADA)
    const key = await site.call('v1:people.whoAmI', {}, undefined, AS_BOB)

    for (const refused of [none, bad, basic]) {
      expect(refused.status).toBe(401)
      expect(refused.body).toMatchObject({ state: 'error', error: { code: 'AUTH_REQUIRED' } })
      expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer')
    }
    expect(good).toMatchObject({ status: 200, body: { result: { subject: 'ada' } } })
    expect(key).toMatchObject({ status: 200, body: { result: { subject: 'bob' } } })
  })

  test('a valid credential without the scope is 403 and names the missing scope; without scopes every known caller may call', async () => {
    verifies('opencall:111', 'opencall:240')
    const site = await startSite({ operations: [whoAmI, readOrder], auth })

    const allowed = await site.call('v1:orders.read', { id: '7' }, undefined, AS_ADA)
    const refused = await site.call('v1:orders.read', { id: '7' }, undefined, AS_BOB)
    const unscoped = await site.call('v1:people.whoAmI', {}, undefined, AS_BOB)

    expect(allowed.status).toBe(200)
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: 'INSUFFICIENT_SCOPE', cause: { missing: ['orders:read'] } } },
    })
    expect(unscoped.status).toBe(200)
  })

  test('a public operation needs none, yet a bad one is still refused', async () => {
    verifies('opencall:110', 'opencall:238')
    const site = await startSite({ operations: [ping], auth })

    const stranger = await site.call('v1:status.ping', {}, { requestId: 'ping-1' })
    const polled = await site.poll('ping-1')
    const known = await site.call('v1:status.ping', {}, undefined, AS_ADA)
    const bad = await site.call('v1:status.ping', {}, undefined, { headers: { Authorization: 'Bearer nonsense' } })

    expect(stranger).toMatchObject({ status: 200, body: { result: 'anonymous' } })
    expect(polled).toMatchObject({ status: 200, body: { result: 'anonymous' } })
    expect(known.body.result).toBe('ada')
    expect(bad.status).toBe(401)
  })

  test('a JWT is its issuer’s subject with its scopes until it expires', async () => {
    verifies('opencall:110', 'opencall:111', 'opencall:232')
    const secret = 'a secret of at least thirty-two bytes'
    const jwt = [{ issuer: 'https://login.example', audience: 'callplane', key: { secret } }]
    const site = await startSite({ operations: [readOrder], auth: { jwt } })
    const sign = async (claims: Record<string, unknown>, expires: string) => {
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('https://login.example')
        .setAudience('callplane')
        .setSubject('carol')
        .setExpirationTime(expires)
        .sign(new TextEncoder().encode(secret))
      return { headers: { Authorization: `Bearer ${token}` } }
    }

    const good = await site.call('v1:orders.read', { id: '7' }, undefined, await sign({ scope: 'orders:read' }, '5m'))
    const poor = await site.call('v1:orders.read', { id: '7' }, undefined, await sign({ scope: 'other' }, '5m'))
    const late = await site.call('v1:orders.read', { id: '7' }, undefined, await sign({ scope: 'orders:read' }, '-1m'))

    expect(good).toMatchObject({ status: 200, body: { result: { subject: 'carol' } } })
    expect(poor.status).toBe(403)
    expect(late).toMatchObject({ status: 401, body: { error: { cause: { reason: 'expired' } } } })
  })
})

describe('the order of checks', () => {
  test('parse, unknown operation, removed, credential, scope, arguments', async () => {
    verifies('opencall:107', 'opencall:108', 'opencall:109', 'opencall:110', 'opencall:111', 'opencall:114')
    const site = await startSite({ operations: [readOrder, removed('v1:orders.old', { on: '2025-01-01' })], auth })

    const unparsable = await site.request('/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer nonsense' },
      body: '{"op":',
    })
    const unknown = await site.call('v1:orders.none')
    const gone = await site.call('v1:orders.old')
    const nobody = await site.call('v1:orders.read', { id: 7 })
    const poor = await site.call('v1:orders.read', { id: 7 }, undefined, AS_BOB)
    const wrong = await site.call('v1:orders.read', { id: 7 }, undefined, AS_ADA)

    expect(unparsable.status).toBe(400)
    expect(unknown).toMatchObject({ status: 400, body: { error: { code: 'UNKNOWN_OP' } } })
    expect(gone).toMatchObject({ status: 410, body: { error: { code: 'OP_REMOVED' } } })
    expect(nobody).toMatchObject({ status: 401, body: { error: { code: 'AUTH_REQUIRED' } } })
    expect(poor).toMatchObject({ status: 403, body: { error: { code: 'INSUFFICIENT_SCOPE' } } })
    expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } })
  })
})

describe('ownership', () => {
  test('another caller’s call is 404 everywhere, with the same message as an unknown call', async () => {
    verifies('opencall:112', 'opencall:131')
    const site = await startSite({ operations: [keep], auth })
    await site.call('v1:notes.keep', {}, { requestId: 'ada-1' }, AS_ADA)
    await site.ended('ada-1', AS_ADA.headers)

    for (const suffix of ['', '/chunks', '/events']) {
      const theirs = await site.request(`/ops/ada-1${suffix}`, AS_BOB)
      const never = await site.request(`/ops/bob-1${suffix}`, AS_BOB)
      expect(theirs.status).toBe(404)
      expect((await theirs.text()).replaceAll('ada-1', 'x')).toBe((await never.text()).replaceAll('bob-1', 'x'))
    }
    const canceled = await site.request('/ops/ada-1', { method: 'DELETE', ...AS_BOB })
    expect(canceled.status).toBe(404)
    expect((await site.poll('ada-1', AS_ADA.headers)).body).toMatchObject({ state: 'complete', result: 'ada' })
  })

  test('without a credential a poll is 401, whether there is such a call or not', async () => {
    verifies('opencall:110')
    const site = await startSite({ operations: [keep], auth })
    await site.call('v1:notes.keep', {}, { requestId: 'ada-1' }, AS_ADA)

    expect((await site.poll('ada-1')).status).toBe(401)
    expect((await site.poll('none-1')).status).toBe(401)
  })

  test('two callers can use the same request id and key, each for its own call', async () => {
    verifies('opencall:032')
    const site = await startSite({ operations: [keep], auth })
    const ctx = { requestId: 'same', idempotencyKey: 'same' }

    await site.call('v1:notes.keep', { whose: 'ada' }, ctx, AS_ADA)
    await site.call('v1:notes.keep', { whose: 'bob' }, ctx, AS_BOB)

    expect((await site.ended('same', AS_ADA.headers)).body).toMatchObject({ requestId: 'same', result: 'ada' })
    expect((await site.ended('same', AS_BOB.headers)).body).toMatchObject({ requestId: 'same', result: 'bob' })
  })
})

describe('the envelope’s own auth', () => {
  const CREDENTIAL = 'an-envelope-credential-of-some-length'
  const block = { iss: 'https://login.example', sub: 'mallory', credentialType: 'bearer', credential: CREDENTIAL }

  test('is not required over HTTP: a refusal asks for the header, and the header alone will do', async () => {
    verifies('opencall:239')
    const site = await startSite({ operations: [whoAmI], auth })

    const none = await site.call('v1:people.whoAmI')
    const blockOnly = await site.call('v1:people.whoAmI', {}, undefined, {
      envelope: { auth: { ...block, credential: ada.token } },
    })
    const headerOnly = await site.call('v1:people.whoAmI', {}, undefined, AS_ADA)

    for (const refused of [none, blockOnly]) {
      expect(refused).toMatchObject({ status: 401, body: { error: { code: 'AUTH_REQUIRED' } } })
      expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer')
    }
    expect(headerOnly).toMatchObject({ status: 200, body: { result: { subject: 'ada' } } })
  })

  test('is taken, checked for its shape, and proves nothing over HTTP', async () => {
    verifies('opencall:042', 'opencall:043', 'opencall:044', 'opencall:231', 'opencall:299')
    const site = await startSite({ operations: [whoAmI], auth })

    const alone = await site.call('v1:people.whoAmI', {}, undefined, {
      envelope: { auth: { ...block, credential: ada.token } },
    })
    const beside = await site.call('v1:people.whoAmI', {}, undefined, { ...AS_ADA, envelope: { auth: block } })
    const { credential: _secret, ...bare } = block
    const without = await site.call('v1:people.whoAmI', {}, undefined, { ...AS_ADA, envelope: { auth: bare } })
    const misshapen = await site.call('v1:people.whoAmI', {}, undefined, { ...AS_ADA, envelope: { auth: { iss: 1 } } })

    expect(alone.status).toBe(401)
    expect(beside.body.result).toEqual({ subject: 'ada' })
    expect(without.body.result).toEqual({ subject: 'ada' })
    expect(misshapen).toMatchObject({ status: 400, body: { error: { cause: { field: 'auth.iss' } } } })
  })

  test('leaves its credential, and the header its own, in no log line, no stored byte and no reply', async () => {
    verifies('opencall:045', 'opencall:046')
    const lines: LogLine[] = []
    const gate = createGate<string>()
    const fails = operation('v1:notes.fail', {
      model: 'async',
      run: async (_args, ctx) => {
        ctx.log.info({ caller: ctx.caller }, 'about to fail')
        throw new Error(await gate.pass())
      },
    })
    const site = await startSite({ operations: [fails], auth, log: createMemoryLog(lines), requestLog: true })
    const sending = { ...AS_ADA, envelope: { auth: block } }

    const accepted = await site.call('v1:notes.fail', {}, { requestId: 'fail-1' }, sending)
    const refused = await site.call('v1:notes.none', {}, undefined, sending)
    gate.open('broken')
    const ended = await site.ended('fail-1', AS_ADA.headers)
    await site.close()

    expect(ended.body.state).toBe('error')
    const stored = readdirSync(site.data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    expect(stored.some((text) => text.includes('fail-1'))).toBe(true)
    expect(lines.length).toBeGreaterThan(0)
    const written = [
      ...stored,
      JSON.stringify(lines.map(({ fields, message }) => [fields, String(fields.err), message])),
      JSON.stringify([accepted, refused, ended].map(({ headers, body }) => [[...headers], body])),
    ]
    for (const text of written) {
      expect(text).not.toContain(CREDENTIAL)
      expect(text).not.toContain(ada.token)
    }
  })
})
