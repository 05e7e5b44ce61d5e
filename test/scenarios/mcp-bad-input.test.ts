/** The requests that MCP over HTTP refuses, with the code and status of each revision. */
import { createToken, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ask, askOlder, send } from './mcp.ts'
import { type Site, startSite } from './server.ts'

const echo = operation('v1:it.echoes', {
  args: z.object({ region: z.string().optional().meta({ 'x-mcp-header': 'Region' }) }),
  run: (args) => args,
})

const start = (): Promise<Site> => startSite({ operations: [echo] })
const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

describe('a message that cannot be taken', () => {
  test.each([
    ['not JSON', '{"jsonrpc":', 400, -32700],
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600],
    ['no JSON-RPC', '{"id":1,"method":"ping"}', 400, -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600],
    ['a body over the limit', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(1_100_000) }), 413, -32600],
  ])('%s', async (_, body, status, code) => {
    const answer = await send(await start(), body)
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
  })

  test('another content type, another method and another site', async () => {
    const site = await start()
    expect((await send(site, '{}', { 'Content-Type': 'text/plain' })).status).toBe(415)
    for (const method of ['GET', 'DELETE']) {
      const response = await site.request('/mcp', { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
    expect((await send(site, '{}', { Origin: 'https://evil.example' })).status).toBe(403)
  })
})

describe('a stateless request whose headers and body disagree', () => {
  test.each([
    ['no Mcp-Method', { 'Mcp-Method': undefined }],
    ['another method', { 'Mcp-Method': 'tools/list' }],
    ['the method in capitals', { 'Mcp-Method': 'TOOLS/CALL' }],
    ['no Mcp-Name', { 'Mcp-Name': undefined }],
    ['another name', { 'Mcp-Name': 'it_sings' }],
    ['a name in bad Base64', { 'Mcp-Name': '=?base64?aXRfZWNob2Vz!?=' }],
    ['no version', { 'MCP-Protocol-Version': undefined }],
    ['another version', { 'MCP-Protocol-Version': '2025-11-25' }],
    ['no header for an argument that has one', {}, { region: 'eu' }],
    ['another value for it', { 'Mcp-Param-Region': 'us' }, { region: 'eu' }],
    ['a value in Base64 without its padding', { 'Mcp-Param-Region': '=?base64?ZXU?=' }, { region: 'eu' }],
    [
      'a value that looks encoded and is repeated as it is',
      { 'Mcp-Param-Region': '=?base64?ZXU=?=' },
      { region: '=?base64?ZXU=?=' },
    ],
    ['a header for a missing argument', { 'Mcp-Param-Region': 'us' }],
  ])('%s', async (_, headers, args: object = {}) => {
    const { status, json } = await ask(await start(), 'tools/call', { name: 'it_echoes', arguments: args }, { headers })
    expect([status, json.error?.code, json.id]).toEqual([400, -32020, 1])
  })

  test('spaces around a value and Base64 are as good as the value', async () => {
    const site = await start()
    const headers = { 'Mcp-Name': ` =?base64?${btoa('it_echoes')}?= `, 'Mcp-Param-Region': `=?base64?${btoa('eu')}?=` }
    const { json } = await ask(site, 'tools/call', { name: 'it_echoes', arguments: { region: 'eu' } }, { headers })
    expect(json.result.structuredContent).toEqual({ region: 'eu' })
  })
})

describe('a stateless request', () => {
  test.each([
    ['without the version in _meta', { [VERSION]: undefined }],
    ['without capabilities in _meta', { [CAPABILITIES]: undefined }],
  ])('%s', async (_, meta) => {
    const { status, json } = await ask(await start(), 'server/discover', {}, { meta })
    expect([status, json.error.code]).toEqual([400, -32602])
  })

  test('of an unknown revision gets the list of supported ones', async () => {
    const { status, json } = await ask(
      await start(),
      'server/discover',
      {},
      {
        meta: { [VERSION]: '2031-01-01' },
        headers: { 'MCP-Protocol-Version': '2031-01-01' },
      },
    )
    expect([status, json.error.code]).toEqual([400, -32022])
    expect(json.error.data).toEqual({ supported: ['2026-07-28'], requested: '2031-01-01' })
  })

  test.each(['initialize', 'ping', 'logging/setLevel', 'tasks/list', 'tasks/result', 'no/such'])(
    'for %s finds no such method',
    async (method) => {
      const { status, json } = await ask(await start(), method)
      expect([status, json.error.code]).toEqual([404, -32601])
    },
  )

  test.each([
    ['an unknown tool', 'tools/call', { name: 'it_sings' }],
    ['a tool by the name of its operation', 'tools/call', { name: 'v1:it.echoes' }],
    ['no tool', 'tools/call', {}],
    ['arguments that are not an object', 'tools/call', { name: 'it_echoes', arguments: [1] }],
    ['a cursor', 'tools/list', { cursor: 'c1' }],
    ['an unknown resource', 'resources/read', { uri: 'callplane://results/none' }],
  ])('with %s', async (_, method, params) => {
    const { status, json } = await ask(await start(), method, params)
    expect([status, json.error.code]).toEqual([200, -32602])
  })

  test('for a task without the capability', async () => {
    const { status, json } = await ask(await start(), 'tasks/get', { taskId: 'x' })
    expect([status, json.error.code]).toEqual([400, -32021])
    expect(json.error.data.requiredCapabilities).toEqual({ extensions: { 'io.modelcontextprotocol/tasks': {} } })
  })
})

test('older clients hear of an unknown method without losing their session, and of an unknown version', async () => {
  const site = await start()
  const unknown = await askOlder(site, 'tasks/get')
  expect([unknown.status, unknown.json.error.code]).toEqual([200, -32601])
  expect((await askOlder(site, 'ping', {}, { 'MCP-Protocol-Version': '1999-01-01' })).status).toBe(400)
})

test('a session of another server is gone for older clients, and means nothing to newer ones', async () => {
  const site = await start()
  const session = { 'Mcp-Session-Id': 's-1' }
  const { status, json } = await askOlder(site, 'ping', {}, session)
  expect([status, json.id]).toEqual([404, 1])
  const params = { protocolVersion: '2025-11-25', capabilities: {} }
  expect((await askOlder(site, 'initialize', params, session)).status).toBe(200)
  expect((await ask(site, 'tools/list', {}, { headers: session })).status).toBe(200)
})

describe('a server with authentication', () => {
  const { token, hash } = createToken()
  const secured = () =>
    startSite({
      operations: [echo, operation('v1:it.deletes', { scopes: ['data:delete', 'data:read'], run: () => true })],
      auth: { tokens: [{ hash, kind: 'bearer', subject: 'ann', scopes: ['data:read'] }] },
    })

  test('tells a client without a credential where to get a token', async () => {
    const site = await secured()
    for (const headers of [{}, { Authorization: 'Bearer nonsense' }]) {
      const { status, headers: sent } = await ask(site, 'tools/list', {}, { headers })
      expect(status).toBe(401)
      expect(sent.get('www-authenticate')).toContain(
        `resource_metadata="${site.url}/.well-known/oauth-protected-resource/mcp"`,
      )
    }
  })

  test('says where that is, and which scopes there are', async () => {
    const site = await startSite({
      operations: [operation('v1:it.deletes', { scopes: ['data:delete', 'data:read'], run: () => true })],
      auth: { jwt: [{ issuer: 'https://id.example', audience: 'tools', key: { secret: 'k'.repeat(32) } }] },
      mcp: { title: 'The tools' },
    })
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource']) {
      expect(await (await site.request(path)).json()).toEqual({
        resource: `${site.url}/mcp`,
        authorization_servers: ['https://id.example'],
        scopes_supported: ['data:delete', 'data:read'],
        bearer_methods_supported: ['header'],
        resource_name: 'The tools',
      })
    }
    const open = await start()
    expect((await open.request('/.well-known/oauth-protected-resource/mcp')).status).toBe(404)
  })

  test('names the scopes that a call lacks', async () => {
    const site = await secured()
    const headers = { Authorization: `Bearer ${token}` }
    const { status, headers: sent, json } = await ask(site, 'tools/call', { name: 'it_deletes' }, { headers })
    expect([status, json.error.code]).toEqual([403, -32011])
    expect(sent.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(sent.get('www-authenticate')).toContain('scope="data:delete data:read"')
  })

  test('tells the model, not the client, of what no credential would allow', async () => {
    const site = await startSite({
      operations: [echo],
      auth: { tokens: [{ hash, kind: 'bearer', subject: 'ann', scopes: [] }] },
      policy: { default: 'allow', rules: [{ id: 'closed', effect: 'deny', reason: 'Closed on Sundays.' }] },
    })
    const headers = { Authorization: `Bearer ${token}` }
    const { status, headers: sent, json } = await ask(site, 'tools/call', { name: 'it_echoes' }, { headers })
    expect([status, json.result.isError, sent.get('www-authenticate')]).toEqual([200, true, null])
    expect(json.result.content[0].text).toContain('Closed on Sundays.')
  })

  test('offers only public tools to a client without a credential', async () => {
    const site = await startSite({
      operations: [echo, operation('v1:it.greets', { public: true, run: () => 'hello' })],
      auth: { tokens: [{ hash, kind: 'bearer', subject: 'ann', scopes: [] }] },
    })
    const { json } = await ask(site, 'tools/list')
    expect(json.result.tools.map(({ name }: { name: string }) => name)).toEqual(['it_greets'])
    expect((await ask(site, 'tools/call', { name: 'it_greets' })).json.result.content[0].text).toBe('hello')
    expect((await ask(site, 'tools/call', { name: 'it_echoes' })).status).toBe(401)
    expect((await ask(site, 'tools/call', { name: 'it_sings' })).status).toBe(401)
  })
})
