/** Logging in to the console with a code or a token. */
import { createHmac } from 'node:crypto'
import { createToken, definePolicy, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createStepClock } from '../scenarios/server.ts'
import { ada, auth, MINUTE, open } from './login-desk.ts'
import { bearer, codeOf, logIn } from './logins.ts'

describe('a code', () => {
  test('logs the local caller in, with the scopes of the screens and without administration', async () => {
    const site = await open()

    const { status, body } = await logIn(site, { code: await codeOf(site) })

    expect([status, body.mode, body.idleSeconds]).toEqual([201, 'read-write', 3600])
    expect(body.session).toMatch(/^cps_[\w-]{43}$/)
    const ours = ['read', 'payloads', 'operate', 'replay', 'approve', 'audit', 'metrics'].map(
      (name) => `callplane:${name}`,
    )
    expect(new Set(body.scopes)).toEqual(new Set(['*', ...ours]))
    expect((await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).body.result).toBe(
      'none|anonymous',
    )
    const listed = await site.call('v1:callplane.approvals.list', {}, undefined, { headers: bearer(body.session) })
    expect([listed.body.state, (await site.call('v1:callplane.approvals.list')).body.error?.code]).toEqual([
      'complete',
      'UNKNOWN_OP',
    ])
  })

  test('works once, also if many use it at the same moment', async () => {
    const site = await open()
    const code = await codeOf(site)

    const all = await Promise.all(Array.from({ length: 20 }, () => logIn(site, { code })))

    expect(all.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(all.filter(({ status }) => status === 401)).toHaveLength(19)
    expect((await logIn(site, { code })).body.error).toMatchObject({ code: 'AUTH_REQUIRED' })
  })

  test('is over after ten minutes', async () => {
    const clock = createStepClock()
    const site = await open({ clock })
    const code = await codeOf(site)

    clock.advance(10 * MINUTE)

    expect((await logIn(site, { code })).status).toBe(401)
  })

  test('of a server with authentication is for the administrator', async () => {
    const site = await open({ auth })

    const { body } = await logIn(site, { code: await codeOf(site) })

    expect((await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).body.result).toBe(
      'callplane|admin',
    )
    expect(body.scopes).not.toContain('callplane:admin')
  })

  test('is made for the administrator only', async () => {
    const site = await open()
    const ask = (headers: Record<string, string>) =>
      site.request('/console/codes', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: '{}',
      })
    const { body } = await logIn(site, { code: await codeOf(site) })

    expect([(await ask({})).status, (await ask(bearer(body.session))).status]).toEqual([403, 403])
  })
})

test('a person with a code approves what local callers want to do', async () => {
  const pay = operation('v1:it.pays', { model: 'async', run: () => 'paid' })
  const policy = definePolicy({
    default: 'allow',
    rules: [{ id: 'ask', effect: 'approve', what: { operation: 'v1:it.pays' } }],
  })
  const site = await open({ operations: [pay], policy })
  const { requestId } = (await site.call('v1:it.pays')).body
  const { body } = await logIn(site, { code: await codeOf(site) })
  const headers = bearer(body.session)

  const listed = await site.call('v1:callplane.approvals.list', {}, undefined, { headers })
  const [{ id }] = (listed.body.result as { approvals: [{ id: string }] }).approvals
  const decided = await site.call('v1:callplane.approvals.decide', { id, verdict: 'approve' }, undefined, { headers })

  expect(decided.body.error).toBeUndefined()
  expect((await site.ended(requestId)).body.result).toBe('paid')
})

describe('a token', () => {
  test('becomes a session of its own caller, with its scopes', async () => {
    const site = await open({ auth })

    const { status, body } = await logIn(site, { token: ada.token })

    expect([status, body.scopes]).toEqual([201, ['orders', 'callplane:read']])
    expect((await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).body.result).toBe(
      'callplane|ada',
    )
  })

  test('can be an API key', async () => {
    const key = createToken()
    const site = await open({ auth: { tokens: [{ hash: key.hash, kind: 'apiKey', subject: 'bo', scopes: [] }] } })

    expect((await logIn(site, { token: key.token })).status).toBe(201)
  })

  test('that the server does not accept is refused, and so are a session and any text without authentication', async () => {
    const [site, local] = [await open({ auth }), await open()]
    const { body } = await logIn(site, { token: ada.token })

    for (const token of ['', 'x', createToken().token, body.session, `${ada.token}x`, 'a\r\nX-Evil: 1'])
      expect([token, (await logIn(site, { token })).status]).toEqual([token, 401])
    expect((await logIn(local, { token: 'anything' })).status).toBe(401)
  })

  test('that is removed from the configuration ends its sessions', async () => {
    const site = await open({ auth })
    const { body } = await logIn(site, { token: ada.token })
    const { data } = site
    await site.close()

    const other = createToken()
    const again = await open({
      data,
      auth: { tokens: [{ hash: other.hash, kind: 'bearer', subject: 'ada', scopes: [] }] },
    })

    expect((await again.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).status).toBe(401)
  })

  test('that expires ends its session with it', async () => {
    const clock = createStepClock()
    const secret = 'a shared secret of sufficient length 1234'
    const site = await open({ clock, auth: { jwt: [{ key: { secret }, issuer: 'https://login.example' }] } })
    const exp = Math.floor(clock.now() / 1000) + 1800

    const { status, body } = await logIn(site, {
      token: jwt({ iss: 'https://login.example', sub: 'eve', exp }, secret),
    })

    expect([status, Date.parse(body.expiresAt)]).toEqual([201, exp * 1000])
    clock.advance(1801_000)
    expect((await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).status).toBe(401)
  })
})

function jwt(claims: object, secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
