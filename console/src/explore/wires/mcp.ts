/** MCP, in its stateless revision: each request is complete in itself. */
import { sliceOf } from './json-slice.ts'
import { isKeyed, unreadable } from './opencall.ts'
import { parseObject } from './parse-json.ts'
import { needsFile } from './tool-names.ts'
import { plainValue } from './tool-result.ts'
import type { Failure, Outcome, Wire, WireCall, WireRequest, WireResponse } from './wire.ts'

const VERSION = '2026-07-28'
const RESULT_URI = 'callplane://results/'
/** Base64 in JSON: larger files are refused by the server's limit for a body. */
const MAX_FILE_TEXT = 1_000_000

export const mcp: Wire = {
  id: 'mcp',
  title: 'MCP',
  refusal({ entry, tool, attachments = [] }) {
    if (entry.executionModel === 'stream') return 'stream-needs-task'
    if (attachments.some((file) => 'base64' in file && file.base64.length > MAX_FILE_TEXT)) return 'large-file'
    return tool ? undefined : 'no-tool'
  },
  encode: (call) => rpc('tools/call', toolName(call), call.requestId, encodeParams(call)),
  decode,
}

function toolName({ tool, entry }: WireCall): string {
  return tool?.name ?? entry.op
}

function encodeParams(call: WireCall): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(isKeyed(call.entry) && { 'callplane/idempotencyKey': call.idempotencyKey }),
  }
  return `{"name":${JSON.stringify(toolName(call))},"arguments":${withFiles(call)},"_meta":${JSON.stringify(meta)}}`
}

/** Files are an additional argument. */
function withFiles({ argsText, entry, attachments = [] }: WireCall): string {
  if (attachments.length === 0 && !needsFile(entry)) return argsText
  const files = attachments.map(({ name, mimeType, ...file }) => [
    name,
    'ref' in file ? { mimeType, uri: file.ref } : { mimeType, data: file.base64 },
  ])
  const inner = argsText.trim().slice(1, -1).trim()
  const taken = sliceOf(JSON.stringify(entry.argsSchema ?? {}), 'properties', 'attachments') !== undefined
  const field = `"${taken ? '_' : ''}attachments":${JSON.stringify(Object.fromEntries(files))}`
  return `{${inner}${inner === '' ? '' : ','}${field}}`
}

function rpc(method: string, name: string, id: string, params: string): WireRequest {
  return {
    method: 'POST',
    path: 'mcp',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': VERSION,
      'Mcp-Method': method,
      'Mcp-Name': name,
    },
    body: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${params}}`,
  }
}

interface Content {
  type: string
  text?: string
  data?: string
  mimeType?: string
  uri?: string
  resource?: { mimeType?: string; text?: string; blob?: string }
}

interface Answer {
  error?: { code: number; message: string }
  result?: {
    resultType?: string
    content?: Content[]
    contents?: NonNullable<Content['resource']>[]
    isError?: boolean
    structuredContent?: unknown
    _meta?: Record<string, { code?: string; retryable?: boolean; retryAfterMs?: number; details?: unknown }>
  }
}

function decode(response: WireResponse, call: WireCall): Outcome {
  const text = messageIn(response)
  const plain = plainValue(text, 'result')
  if (plain !== undefined) return { kind: 'result', json: plain }
  const { error, result } = parseObject<Answer>(text)
  if (error) return { kind: 'failure', code: String(error.code), message: error.message }
  if (!result) return unreadable(response)
  const content = result.content?.at(-1) ?? (result.contents?.[0] && { type: 'resource', resource: result.contents[0] })
  if (result.isError) return failureOf(content?.text ?? '', result._meta?.['callplane/error'], call)
  if (content?.type === 'resource' && content.resource) return bytesOf(content.resource)
  if ((content?.type === 'image' || content?.type === 'audio') && content.data !== undefined) {
    return { kind: 'bytes', mimeType: content.mimeType ?? '', base64: content.data }
  }
  if (content?.type === 'resource_link' && content.uri?.startsWith(RESULT_URI)) {
    const next = readRequest(content.uri, call)
    return { kind: 'running', requestId: call.requestId, retryAfterMs: 0, next }
  }
  const { resultType, ...own } = result
  return { kind: 'result', json: JSON.stringify(own) }
}

/** The result is a resource of the server. It is read over MCP, too. */
function readRequest(uri: string, { requestId }: WireCall): WireRequest {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return rpc('resources/read', uri, requestId, JSON.stringify({ uri, _meta: meta }))
}

function bytesOf({ mimeType = 'text/plain', text, blob }: NonNullable<Content['resource']>): Outcome {
  return { kind: 'bytes', mimeType, ...(text !== undefined && { text }), ...(blob !== undefined && { base64: blob }) }
}

type Facts = { code?: string; retryable?: boolean; retryAfterMs?: number; details?: unknown }

function failureOf(message: string, facts: Facts = {}, call: WireCall): Outcome {
  const { code, retryable, retryAfterMs = 1_000, details } = facts
  if (code === 'STILL_RUNNING') {
    return { kind: 'running', requestId: call.requestId, retryAfterMs, next: mcp.encode(call) }
  }
  const failure: Failure = { kind: 'failure', message }
  if (code !== undefined) failure.code = code
  if (retryable !== undefined) failure.retryable = retryable
  if (details !== undefined) failure.details = JSON.stringify(details)
  return failure
}

/** A response may come as events. The last message is the response; those before are notifications. */
function messageIn({ text, header }: WireResponse): string {
  if (!header('content-type')?.includes('text/event-stream')) return text
  const data = text.split(/\r?\n\r?\n/).flatMap((event) => {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
    return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trimStart()).join('\n')]
  })
  return data.at(-1) ?? ''
}
