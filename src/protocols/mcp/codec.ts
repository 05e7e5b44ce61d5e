/** Between the engine's values and MCP's tool results. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Reply } from '../../core/reply.ts'
import type { CallToolResult, Content, Generation } from './wire.ts'

export type RunningReply = Extract<Reply, { state: 'accepted' | 'pending' }>

export function hasEnded(reply: Reply): reply is Exclude<Reply, RunningReply> {
  return reply.state === 'complete' || reply.state === 'error'
}

export function text(said: string): Content {
  return { type: 'text', text: said }
}

/**
 * A text is content as it is, everything else is shown as JSON; and given as a value beside it. Older revisions take
 * objects only, so there any other value is wrapped, as it is in the schema they were shown.
 */
export function encodeValue(value: JsonValue, generation: Generation): CallToolResult {
  if (isToolResult(value)) return value as unknown as CallToolResult
  const content = [text(typeof value === 'string' ? value : JSON.stringify(value))]
  if (generation === 'stateless' || isJsonObject(value)) return { content, structuredContent: value }
  return { content, structuredContent: { result: value } }
}

const RESULT_FIELDS = new Set(['content', 'structuredContent', 'isError', '_meta'])

/** What an operation returns that knows MCP: nothing but the fields of a tool's result. */
function isToolResult(value: JsonValue): value is JsonObject & { content: JsonObject[] } {
  if (!isJsonObject(value) || !Array.isArray(value.content)) return false
  if (!value.content.every((item) => isJsonObject(item) && typeof item.type === 'string')) return false
  return Object.keys(value).every((key) => RESULT_FIELDS.has(key))
}

/** Every result of the stateless revision says what kind it is; older clients would not know the word. */
export function completed<T extends object>(result: T, generation: Generation): T {
  return generation === 'stateless' ? { resultType: 'complete', ...result } : result
}
