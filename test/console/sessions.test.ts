/** Sessions of the console: a credential on every protocol, until they end. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createStepClock, type Site } from '../scenarios/server.ts'
import { ada, auth, MINUTE, open } from './login-desk.ts'
import { bearer, codeOf, logIn } from './logins.ts'

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
