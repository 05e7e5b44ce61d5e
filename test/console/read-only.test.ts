/** A read-only session changes nothing: every operation with side effects, and every cancellation, on every protocol. */
import { operation, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Site, startSite } from '../scenarios/server.ts'

function openShop() {
  const runs: string[] = []
  const operations = [
    operation('v1:shop.look', { run: () => 'seen' }),
    operation('v1:shop.buy', { sideEffecting: true, idempotencyRequired: false, run: () => runs.push('buy') }),
    operation('v1:shop.order', { model: 'async', sideEffecting: true, run: () => runs.push('order') }),
    operation('v1:shop.wait', {
      model: 'async',
      run: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    }),
    // Looks harmless, and calls what is not.
    operation('v1:shop.indirect', { run: (_args, ctx) => ctx.call('v1:shop.buy', {}) }),
    operation('v1:shop.ticks', {
      frame: { type: 'object' },
      async *run(_args, { signal }) {
        while (!signal.aborted) yield { n: 1 }
      },
    }),
  ]
  return { runs, operations }
}

async function logIn({ server, request }: Site, readOnly: boolean): Promise<Record<string, string>> {
  const { code } = (await server.loginCode()) ?? {}
  const response = await request('/console/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, ...(readOnly && { readOnly }) }),
  })
  const { session, mode } = (await response.json()) as { session: string; mode: string }
  expect(mode).toBe('read-only')
  return { Authorization: `Bearer ${session}` }
}

async function post(site: Site, path: string, body: object, headers: Record<string, string>): Promise<string> {
  const all = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers }
  return (await site.request(path, { method: 'POST', headers: all, body: JSON.stringify(body) })).text()
}

/** Each calls the operation with this name in OpenCALL, `v1:shop.buy`, and returns the response's text. */
const WIRES: Record<string, (site: Site, op: string, headers: Record<string, string>) => Promise<string>> = {
  OpenCALL: (site, op, headers) =>
    post(site, '/call', { op, args: {}, ctx: { requestId: crypto.randomUUID(), idempotencyKey: 'k' } }, headers),
  'the later OpenCALL': (site, op, headers) =>
    post(site, `/ops/${op.slice(3).replace('.', '/')}/v1`, {}, { 'Idempotency-Key': 'k', ...headers }),
  WebSocket: (site, op, { Authorization = '' }) =>
    new Promise((resolve, reject) => {
      const query = new URLSearchParams({ access_token: Authorization.slice('Bearer '.length) })
      const socket = new WebSocket(`${site.url.replace('http', 'ws')}/call?${query}`)
      const ctx = { requestId: crypto.randomUUID(), idempotencyKey: 'k' }
      socket.on('open', () => socket.send(JSON.stringify({ op, args: {}, ctx })))
      socket.on('error', reject).on('message', (text) => {
        resolve(String(text))
        socket.close()
      })
    }),
  MCP: (site, op, headers) =>
    post(
      site,
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: toolOf(op), arguments: {} } },
      headers,
    ),
  OXP: (site, op, headers) => post(site, '/tools/call', { tool_id: op.slice(3), call_id: 'c', input: {} }, headers),
  OTC: (site, op, headers) =>
    post(site, '/otc/tools/call', { request: { tool_id: op.slice(3), call_id: 'c', input: {} } }, headers),
  'Tool Execution': (site, op, headers) => post(site, `/tools/${toolOf(op)}/call`, {}, headers),
  'the explorer': (site, op, headers) => post(site, `/explorer/tools/${toolOf(op)}/call`, {}, headers),
  'Tool Contract': (site, op, headers) =>
    post(site, '/tool-contract/v1/execute', { request_id: 'r', tool: { name: toolOf(op) }, input: {} }, headers),
}

function toolOf(op: string): string {
  return op.slice(3).replace('.', '_')
}

const MODES: readonly [string, Partial<ServerOptions>, boolean][] = [
  ['the session asked for it', {}, true],
  ['the server has the option', { console: { readOnly: true } }, false],
]

describe.each(MODES)('%s', (_, options, readOnly) => {
  test.each(Object.entries(WIRES))('%s runs no side effect, and still reads', async (_wire, call) => {
    const { runs, operations } = openShop()
    const site = await startSite({ operations, rest: { allowExecute: true }, ...options })
    const headers = await logIn(site, readOnly)

    const looked = await call(site, 'v1:shop.look', headers)
    const refused = [await call(site, 'v1:shop.buy', headers), await call(site, 'v1:shop.order', headers)]
    await call(site, 'v1:shop.indirect', headers)

    expect(looked).toContain('seen')
    for (const text of refused) expect(text).toMatch(/read-only/)
    expect(runs).toEqual([])
  })
})

test("the server's own operations: each one with side effects is refused, and those that change something have them", async () => {
  const site = await startSite({ operations: openShop().operations })
  const headers = await logIn(site, true)
  const own = site.server.registry.listInternal(Date.now())
  const changing = own.filter(({ sideEffecting }) => sideEffecting)

  for (const { name } of changing) {
    const { body } = await site.call(name.full, {}, undefined, { headers })
    expect([name.full, body.error?.code]).toEqual([name.full, 'READ_ONLY'])
  }

  const verbs = /\.(?:cancel|decide|delete|dismiss|remove|replay|retry|set|update)$/
  expect(changing.map(({ name }) => name.full)).toContain('v1:callplane.approvals.decide')
  expect(own.filter(({ name, sideEffecting }) => verbs.test(name.full) && !sideEffecting)).toEqual([])
})

test('it cannot cancel a call of the same caller, or end its streams', async () => {
  const site = await startSite({ operations: openShop().operations })
  const headers = await logIn(site, true)
  const { requestId } = (await site.call('v1:shop.wait')).body
  const stream = (await site.call('v1:shop.ticks')).body.requestId
  const cancel = { op: 'v1:cancelOperation', args: { requestId } }

  const tries = [
    await (await site.request(`/ops/${requestId}`, { method: 'DELETE', headers })).text(),
    await overSocket(site, cancel, headers),
    JSON.stringify((await site.call('v1:unsubscribeFromStream', { requestId: stream }, undefined, { headers })).body),
    await overSocket(site, { op: 'v1:unsubscribeFromStream', args: { requestId: stream } }, headers),
  ]

  for (const text of tries) expect(text).toMatch(/READ_ONLY/)
  expect((await site.poll(requestId)).body.state).toMatch(/accepted|pending/)
  expect((await site.request(`/ops/${requestId}`, { method: 'DELETE' })).status).toBeLessThan(300)
})

function overSocket(site: Site, message: object, { Authorization = '' }: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${site.url.replace('http', 'ws')}/call`, { headers: { Authorization } })
    const ctx = { requestId: crypto.randomUUID() }
    socket.on('open', () => socket.send(JSON.stringify({ ...message, ctx })))
    socket.on('error', reject).on('message', (text) => {
      resolve(String(text))
      socket.close()
    })
  })
}
