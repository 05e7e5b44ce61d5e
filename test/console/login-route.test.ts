/** The route of the console's login: who may use it, and what it refuses. */
import { createToken, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createStepClock } from '../scenarios/server.ts'
import { ada, auth, open } from './login-desk.ts'
import { codeOf, logIn } from './logins.ts'

describe('the login route', () => {
  test.each([
    ['without authentication', {}, ['none', 'code']],
    ['with authentication', { auth }, ['code', 'token']],
    ['read-only', { console: { readOnly: true } }, ['code']],
  ] as const)('says how to log in: %s', async (_, options, ways) => {
    const site = await open(options as Partial<ServerOptions>)

    const response = await site.request('/console/session')

    expect(await response.json()).toEqual({ ways })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('set-cookie')).toBeNull()
  })

  test.each([
    ['another origin', { Origin: 'https://evil.example' }],
    ['another port of this machine', { Origin: 'http://127.0.0.1:1' }],
    ['an origin that may call', { Origin: 'https://app.example' }],
    ['no origin', { Origin: 'null' }],
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page of another port', { 'Sec-Fetch-Site': 'same-site' }],
  ])('refuses the pages of %s, and does not use up the code', async (_, headers) => {
    const site = await open({ cors: { origins: ['https://app.example'] } })
    const code = await codeOf(site)

    expect((await logIn(site, { code }, headers)).body.error.code).toBe('CROSS_SITE')
    expect((await logIn(site, { code }, { Origin: site.url, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(201)
  })

  test('refuses other hosts', async () => {
    const { server } = await open()

    const response = await server.fetch(new Request('http://evil.example/console/session'))

    expect(response.status).toBe(403)
  })

  test.each([
    ['a form', 'code=x', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['a text', '{"code":"x"}', { 'Content-Type': 'text/plain' }],
    ['no JSON', '{', {}],
    ['a list', '[]', {}],
    ['nothing', '{}', {}],
    ['both', '{"code":"x","token":"y"}', {}],
    ['a number', '{"code":1}', {}],
    ['a key twice', '{"code":"x","code":"y"}', {}],
    ['a prototype', '{"code":"x","__proto__":{}}', {}],
    ['another field', '{"code":"x","scopes":["callplane:admin"]}', {}],
    ['another mode', '{"code":"x","readOnly":"no"}', {}],
    ['a huge body', JSON.stringify({ token: 'x'.repeat(40_000) }), {}],
  ])('refuses %s', async (_, body, headers) => {
    const site = await open({ auth })

    const { status } = await logIn(site, body, headers as Record<string, string>)

    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(status).not.toBe(401)
  })

  test('slows guessing down, and tells when to try again', async () => {
    const site = await open({ auth, clock: createStepClock() })
    const guess = () => logIn(site, { token: createToken().token })

    const statuses: number[] = []
    for (let tries = 0; tries < 101; tries++) statuses.push((await guess()).status)
    const last = await site.request('/console/session', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: ada.token }),
    })

    expect(statuses.filter((status) => status === 401)).toHaveLength(100)
    expect([last.status, last.headers.get('retry-after')]).toEqual([429, '1'])
  })

  test('is absent if the console is switched off, and sessions are no credential then', async () => {
    const site = await open({ auth, console: false })

    expect((await site.request('/console/session')).status).toBe(404)
    expect(await site.server.loginCode()).toBeUndefined()
  })
})
