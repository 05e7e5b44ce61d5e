/** Encodes the engine's results as MCP's tool results. */

import type { Reply } from '../../core/call/reply.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { CallToolResult, Content, Generation } from './wire.ts'

export type RunningReply = Extract<Reply, { state: 'accepted' | 'pending' | 'streaming' }>

export function hasEnded(reply: Reply): reply is Exclude<Reply, RunningReply> {
  return reply.state === 'complete' || reply.state === 'error'
}

export function text(said: string): Content {
  return { type: 'text', text: said }
}

/**
 * A string becomes text content. Any other value becomes JSON text. Both are also in `structuredContent`. Older
 * revisions accept only objects there, so other values are wrapped, as in the tool's output schema.
 */
export function encodeValue(value: JsonValue, generation: Generation): CallToolResult {
  if (isToolResult(value)) return value as unknown as CallToolResult
  const content = [text(typeof value === 'string' ? value : JSON.stringify(value))]
  if (generation === 'stateless' || isJsonObject(value)) return { content, structuredContent: value }
  return { content, structuredContent: { result: value } }
}

/**
 * Returns `completed(encodeValue(value))` as text without the objects, and encodes the value once instead of twice.
 * Returns undefined for the few values where that needs the objects: a tool result, and a value without a JSON text.
 */
export function encodeValueText(value: JsonValue, generation: Generation): string | undefined {
  if (isToolResult(value)) return undefined
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) return undefined
  const shown = typeof value === 'string' ? json : typeof value === 'object' ? JSON.stringify(json) : `"${json}"`
  if (generation === 'stateless') {
    return `{"resultType":"complete","content":[{"type":"text","text":${shown}}],"structuredContent":${json}}`
  }
  const structured = isJsonObject(value) ? json : `{"result":${json}}`
  return `{"content":[{"type":"text","text":${shown}}],"structuredContent":${structured}}`
}

const RESULT_FIELDS = new Set(['content', 'structuredContent', 'isError', '_meta'])

/** True if the operation returned a tool result itself: the value has no other fields. */
function isToolResult(value: JsonValue): value is JsonObject & { content: JsonObject[] } {
  if (!isJsonObject(value) || !Array.isArray(value.content)) return false
  if (!value.content.every((item) => isJsonObject(item) && typeof item.type === 'string')) return false
  return Object.keys(value).every((key) => RESULT_FIELDS.has(key))
}

/** Adds `resultType`, which every result of the stateless revision has. Older revisions do not have it. */
export function completed<T extends object>(result: T, generation: Generation): T {
  return generation === 'stateless' ? { resultType: 'complete', ...result } : result
}
