/** One addition in the wire format of each protocol and framework: the request, and the expected reply. */
import { createHmac } from 'node:crypto'
import { ADD, JWT_ISSUER, JWT_SECRET } from './contenders/add-schemas.ts'

export interface Wire {
  path: string
  headers?: Readonly<Record<string, string>>
  body(args: Addition, id: string): unknown
  /** The expected start of the reply. */
  start(sum: number, id: string): string
  /** The expected end, if the reply begins with an id that the server chose. */
  end?(sum: number): string
}

export interface Addition {
  a: unknown
  b: unknown
}

const MCP_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

const MCP_HEADERS = {
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'Calculator_Add',
}

const opencall: Wire = {
  path: '/call',
  body: (args, requestId) => ({ op: ADD, args, ctx: { requestId } }),
  start: (sum, requestId) => `{"requestId":"${requestId}","state":"complete","result":${sum}}`,
}

const mcp: Wire = {
  path: '/mcp',
  headers: MCP_HEADERS,
  body: (args, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'Calculator_Add', arguments: args, _meta: MCP_META },
  }),
  start: (sum, id) =>
    `{"jsonrpc":"2.0","id":"${id}","result":{"resultType":"complete","content":[{"type":"text","text":"${sum}"}],"structuredContent":${sum}}}`,
}

export const WIRES = {
  opencall,
  /** With a JWT, the same in every call. */
  opencallToken: { ...opencall, headers: { Authorization: `Bearer ${signJwt()}` } },
  /** Without a call_id, because the server stores a given one as an idempotency key. */
  oxp: {
    path: '/tools/call',
    body: (input) => ({ tool_id: 'Calculator.Add@1.0.0', input }),
    start: () => '{"call_id":"',
    end: (sum) => `,"success":true,"value":${sum}}`,
  },
  rest: {
    path: '/tools/Calculator_Add/call',
    body: (args) => args,
    start: (sum) =>
      `{"content":[{"type":"text","text":"${sum}"}],"structuredContent":{"result":${sum}},"isError":false,`,
  },
  mcp,
  /** The SDK writes the result first. */
  mcpSdk: {
    ...mcp,
    start: (sum) => `{"result":{"content":[{"type":"text","text":"${sum}"}],"structuredContent":${sum},`,
  },
  /** The previous revision, which the first generation of the SDK speaks. */
  mcpSdkInitialized: {
    path: '/mcp',
    headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
    body: (args, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'Calculator_Add', arguments: args },
    }),
    start: (sum) => `{"result":{"content":[{"type":"text","text":"${sum}"}],"structuredContent":{"result":${sum}}}`,
  },
  trpc: { path: '/add', body: (args) => args, start: (sum) => `{"result":{"data":${sum}}}` },
  orpc: { path: '/add', body: (json) => ({ json }), start: (sum) => `{"json":${sum}}` },
} satisfies Record<string, Wire>

export type WireName = keyof typeof WIRES

export function headersOf({ headers = {} }: Wire): Record<string, string> {
  return { 'Content-Type': 'application/json', ...headers }
}

/** `tools/list` of MCP 2026-07-28. */
export const TOOL_LIST = {
  path: '/mcp',
  headers: {
    'Content-Type': 'application/json',
    Accept: MCP_HEADERS.Accept,
    'MCP-Protocol-Version': MCP_HEADERS['MCP-Protocol-Version'],
    'Mcp-Method': 'tools/list',
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: MCP_META } }),
} as const

/** HS256, the same token in every process: a token that is always new would be verified again each time. */
function signJwt(): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: JWT_ISSUER, sub: 'bench', aud: 'bench', exp: 4_000_000_000, scope: 'calculator' }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`
}
