/** Logging in to the console: codes, tokens, sessions on every protocol, and their end. */
import { createHmac } from 'node:crypto'
import { createToken, definePolicy, operation, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createStepClock, type Site, startSite } from '../scenarios/server.ts'
import { bearer, codeOf, logIn } from './logins.ts'

const whose = operation('v1:it.is', { run: (_args, { caller }) => `${caller.issuer}|${caller.subject}` })
const ada = createToken()
const auth = {
  tokens: [{ hash: ada.hash, kind: 'bearer' as const, subject: 'ada', scopes: ['orders', 'callplane:read'] }],
}
const MINUTE = 60_000

function open(options: Partial<ServerOptions> = {}): Promise<Site> {
  return startSite({ operations: [whose], ...options })
}

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

describe('a session', () => {
  test('is a credential on every protocol, and a made-up one is refused on each', async () => {
    const site = await open({ auth, rest: { allowExecute: true } })
    const { body } = await logIn(site, { token: ada.token })

    for (const { name, ask } of WIRES) {
      const good = await ask(site, bearer(body.session))
      const bad = await ask(site, bearer(`cps_${'x'.repeat(43)}`))
      expect([name, good]).toEqual([name, expect.stringContaining('callplane|ada')])
      expect([name, bad]).toEqual([name, expect.not.stringContaining('callplane|ada')])
    }
  })

  test('is refused where the server has no authentication, too, once it has ended', async () => {
    const site = await open()
    const { body } = await logIn(site, { code: await codeOf(site) })

    const ended = await site.request('/console/session', { method: 'DELETE', headers: bearer(body.session) })
    const after = await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })

    expect([ended.status, after.status, after.body.error?.code]).toEqual([204, 401, 'AUTH_REQUIRED'])
    expect((await site.request('/console/session', { method: 'DELETE' })).status).toBe(401)
  })

  test('ends after eight hours, however much it is used', async () => {
    const clock = createStepClock()
    const site = await open({ clock })
    const { body } = await logIn(site, { code: await codeOf(site) })
    const use = async () => (await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).status

    for (let minutes = 0; minutes < 8 * 60; minutes += 30) {
      expect([minutes, await use()]).toEqual([minutes, 200])
      clock.advance(30 * MINUTE)
    }

    expect(await use()).toBe(401)
  })

  test('ends when nobody uses it for an hour', async () => {
    const clock = createStepClock()
    const site = await open({ clock })
    const { body } = await logIn(site, { code: await codeOf(site) })
    const use = async () => (await site.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).status

    clock.advance(59 * MINUTE)
    expect(await use()).toBe(200)
    clock.advance(66 * MINUTE)
    expect(await use()).toBe(401)
  })

  test('stays when the server starts again, and its token is in no file', async () => {
    const site = await open()
    const { body } = await logIn(site, { code: await codeOf(site) })
    const { data } = site
    await site.close()

    const again = await open({ data })

    expect((await again.call('v1:it.is', {}, undefined, { headers: bearer(body.session) })).status).toBe(200)
    const { readdirSync, readFileSync, statSync } = await import('node:fs')
    for (const name of readdirSync(data, { recursive: true }) as string[])
      if (statSync(`${data}/${name}`).isFile())
        expect([name, readFileSync(`${data}/${name}`).includes(body.session.slice(4))]).toEqual([name, false])
  })

  test('cannot be chosen by somebody else', async () => {
    const site = await open()
    const fixed = `cps_${'a'.repeat(43)}`

    const { status, body } = await logIn(site, { code: await codeOf(site) }, bearer(fixed))

    expect([status, body.session === fixed]).toEqual([201, false])
    expect((await site.call('v1:it.is', {}, undefined, { headers: bearer(fixed) })).status).toBe(401)
  })
})

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

function jwt(claims: object, secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const WIRES: readonly { name: string; ask(site: Site, headers: Record<string, string>): Promise<string> }[] = [
  { name: 'OpenCALL', ask: (site, headers) => send(site, '/call', { op: 'v1:it.is', args: {} }, headers) },
  {
    name: 'MCP',
    ask: (site, headers) =>
      send(
        site,
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'it_is', arguments: {} } },
        { Accept: 'application/json, text/event-stream', ...headers },
      ),
  },
  { name: 'OXP', ask: (site, headers) => send(site, '/tools/call', { tool_id: 'it.is', input: {} }, headers) },
  {
    name: 'OTC',
    ask: (site, headers) => send(site, '/otc/tools/call', { request: { tool_id: 'it.is', input: {} } }, headers),
  },
  { name: 'REST', ask: (site, headers) => send(site, '/tools/it_is/call', {}, headers) },
  {
    name: 'Contract',
    ask: (site, headers) =>
      send(site, '/tool-contract/v1/execute', { request_id: 'r1', tool: { name: 'it_is' }, input: {} }, headers),
  },
  {
    name: 'WebSocket',
    ask: (site, { Authorization = '' }) =>
      new Promise((resolve) => {
        const query = new URLSearchParams({ access_token: Authorization.slice('Bearer '.length) })
        const socket = new WebSocket(`${site.url.replace('http', 'ws')}/call?${query}`)
        socket.on('open', () => socket.send(JSON.stringify({ op: 'v1:it.is', args: {} })))
        socket.on('message', (text) => {
          resolve(String(text))
          socket.close()
        })
        socket.on('error', (error) => resolve(error.message))
      }),
  },
]

async function send(site: Site, path: string, body: object, headers: Record<string, string>): Promise<string> {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  return (await site.request(path, init)).text()
}
