/** The same addition as `tools/call` of MCP 2026-07-28, written by hand. The headers repeat fields of the body. */
import type { IncomingHttpHeaders } from 'node:http'
import { createChecks, type Pair } from './add-checks.ts'
import { type Bare, HEADERS, isObject, parseObject, type Reply } from './bare.ts'

const VERSION = '2026-07-28'
const TOOL = 'Calculator_Add'

export async function createMcp(validator?: 'ajv' | 'zod'): Promise<Bare> {
  const checks = await createChecks(validator)
  return {
    path: '/mcp',
    headers: HEADERS,
    answer(text, headers) {
      const message = parseObject(text)
      if (message?.jsonrpc !== '2.0') return refuse(null, -32600, 'This is not a JSON-RPC message.')
      const { id, method, params } = message
      if (typeof id !== 'number' && typeof id !== 'string') return refuse(null, -32600, 'The id is wrong.')
      if (method !== 'tools/call') return refuse(id, -32601, 'There is no such method.')
      if (!isObject(params) || !agrees(headers, params)) return refuse(id, -32001, 'Headers and body do not agree.')
      if (!checks.args(params.arguments)) {
        return succeed(id, { content: [{ type: 'text', text: 'The arguments are wrong.' }], isError: true })
      }
      const { a, b } = params.arguments as Pair
      const result = a + b
      if (!checks.result(result)) return refuse(id, -32603, 'The result is wrong.')
      return succeed(id, { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result })
    },
  }
}

function agrees(headers: IncomingHttpHeaders, { name, _meta }: Record<string, unknown>): boolean {
  return (
    isObject(_meta) &&
    _meta['io.modelcontextprotocol/protocolVersion'] === VERSION &&
    isObject(_meta['io.modelcontextprotocol/clientCapabilities']) &&
    name === TOOL &&
    headers['mcp-protocol-version'] === VERSION &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === TOOL
  )
}

function succeed(id: number | string, result: object): Reply {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }) }
}

function refuse(id: number | string | null, code: number, message: string): Reply {
  return { status: 400, body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) }
}
