/** Valid requests to every route: the input of the mutations. */
import { META, STATELESS_VERSION } from '../../../src/protocols/mcp/wire.ts'

export type Surface = 'opencall' | 'oxp' | 'rest' | 'contract' | 'mcp' | 'server'

export interface Draft {
  surface: Surface
  method: string
  path: string
  headers: Record<string, string>
  /** A JSON value, or text that is sent unchanged. */
  body?: unknown
}

/** `id` is unique to each request. */
export function goodRequests(id: string): Draft[] {
  const add = { a: 1, b: 2 }
  return [...openCall(id, add), ...oxp(id, add), ...rest(add), ...contract(id, add), ...mcp(id, add), ...others(id)]
}

const json = { 'Content-Type': 'application/json' }

function get(surface: Surface, path: string, headers: Record<string, string> = {}): Draft {
  return { surface, method: 'GET', path, headers }
}

function post(surface: Surface, path: string, body: unknown, headers: Record<string, string> = json): Draft {
  return { surface, method: 'POST', path, headers, body }
}

function openCall(id: string, args: object): Draft[] {
  const boundary = `x${id}`
  const part = (name: string, type: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${name}.txt"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`
  const envelope = JSON.stringify({
    op: 'v1:Files.Describe',
    args: {},
    media: [{ name: 'file', mimeType: 'text/plain', part: 'file' }],
  })
  const form = `${part('envelope', 'application/json', envelope)}${part('file', 'text/plain', 'hello')}--${boundary}--\r\n`
  return [
    post('opencall', '/call', { op: 'v1:Calculator.Add', args }),
    post('opencall', '/call', {
      op: 'v1:Calculator.Add',
      args,
      ctx: { requestId: id, idempotencyKey: id, timeoutMs: 5 },
    }),
    post('opencall', '/call', {
      op: 'v1:Reports.Generate',
      args: { month: '2026-01', steps: 1 },
      ctx: { requestId: id },
    }),
    post('opencall', '/call', { op: 'v1:Awkward.Rules', args: { rule: { and: [{ and: [{ is: 1 }] }] } } }),
    post('opencall', '/call', { op: 'v1:Awkward.Names', args: { constructor: 'x', names: ['a', 'b'], text: 'aa' } }),
    post('opencall', '/call', form, { 'Content-Type': `multipart/form-data; boundary=${boundary}` }),
    post('opencall', '/ops/Calculator/Add/v1', { op: 'Calculator.Add:v1', args }, { 'Idempotency-Key': `"${id}"` }),
    get('opencall', `/ops/${id}`),
    get('opencall', `/ops/${id}/chunks?cursor=0`),
    get('opencall', `/ops/${id}/events`),
    { surface: 'opencall', method: 'DELETE', path: `/ops/${id}`, headers: {} },
    get('opencall', `/objects/${id}`, { Range: 'bytes=0-1' }),
    get('opencall', '/.well-known/ops', { 'If-None-Match': '"x"' }),
    get('opencall', '/.well-known/errors', { 'If-None-Match': '"x"' }),
  ]
}

function oxp(id: string, input: object): Draft[] {
  const request = { tool_id: 'Calculator.Add@1.0.0', call_id: id, input }
  const call = { $schema: 'otc://1.0', request }
  return ['', '/otc'].flatMap((prefix) => [
    get('oxp', `${prefix}/health`),
    get('oxp', `${prefix}/tools`),
    post('oxp', `${prefix}/tools/call`, call),
    post('oxp', `${prefix}/tools/call`, request),
  ])
}

function rest(args: object): Draft[] {
  return ['', '/explorer'].flatMap((prefix) => [
    get('rest', `${prefix}/tools/Calculator_Add`),
    post('rest', `${prefix}/tools/Calculator_Add/validate`, args),
    post('rest', `${prefix}/tools/Awkward_Rules/validate`, { rule: { and: [] } }),
    post('rest', `${prefix}/tools/Calculator_Add/call`, args),
    post('rest', `${prefix}/tools/Awkward_Names/call`, { names: [{ a: 1 }], text: 'aab' }),
    get('rest', '/explorer/'),
  ])
}

function contract(id: string, input: object): Draft[] {
  const request = {
    tool_contract_version: 'v1',
    request_id: id,
    task_id: 't',
    namespace: 'n',
    agent: 'a',
    tool: { name: 'Calculator_Add', operation: 'invoke', capabilities: [], risk_level: 'low' },
    input,
    input_raw: '',
    runtime: { mode: 'http', timeout_ms: 100, max_attempts: 1, backoff: 'none', max_backoff_ms: 1, jitter: false },
    auth: { profile: 'none', secret_ref: '', scopes: [] },
    trace: { trace_id: 't', span_id: 's' },
  }
  const headers = { ...json, 'X-Tool-Contract-Version': 'v1' }
  return [
    post('contract', '/tool-contract/v1/execute', request, headers),
    post('contract', '/tool-contract/v1/jobs', request, headers),
    get('contract', `/tool-contract/v1/jobs/${id}`, headers),
  ]
}

function mcp(id: string, args: object): Draft[] {
  const _meta = { [META.version]: STATELESS_VERSION, [META.capabilities]: {} }
  const rpc = (method: string, params: object, more: Record<string, string> = {}) =>
    post(
      'mcp',
      '/mcp',
      { jsonrpc: '2.0', id, method, params },
      { ...json, Accept: 'application/json, text/event-stream', ...more },
    )
  const stateless = (method: string) => ({ 'MCP-Protocol-Version': STATELESS_VERSION, 'Mcp-Method': method })
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  return [
    rpc('initialize', client),
    rpc('tools/list', { _meta }, stateless('tools/list')),
    rpc(
      'tools/call',
      { name: 'Calculator_Add', arguments: args, _meta },
      { ...stateless('tools/call'), 'Mcp-Name': 'Calculator_Add' },
    ),
    rpc('ping', {}),
    get('mcp', '/mcp', { Accept: 'text/event-stream', 'Mcp-Session-Id': id }),
    { surface: 'mcp', method: 'DELETE', path: '/mcp', headers: { 'Mcp-Session-Id': id } },
  ]
}

function others(id: string): Draft[] {
  return [
    post('server', `/v1/tool-callbacks/${id}`, { status: 'ok', output: {} }),
    get('server', `/approvals/${id}/status?signature=x`),
    get('server', `/authorizations/${id}/status`),
    get('server', '/ready'),
    get('server', '/metrics'),
    get('server', `/${id}`),
  ]
}
