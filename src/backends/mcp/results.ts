/** Turns a tool's response into the result of an operation or into a fault. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

const MAX_DETAILS = 4_000

/**
 * Structured content is the result. A single text follows the rule for all remote tools: the JSON object in it, or `{
 * result: text }`. Other content keeps MCP's shape.
 */
export function decodeToolResult({ content, structuredContent, isError }: CallToolResult): JsonValue {
  if (isError) throw toolFault(content, structuredContent)
  if (structuredContent !== undefined) return structuredContent as JsonValue
  const [first, ...more] = content
  if (first?.type !== 'text' || more.length > 0) return { content: content as unknown as JsonValue }
  return objectIn(first.text) ?? { result: first.text }
}

function objectIn(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** The tool ran and reported a failure. Its message is written for the caller. */
function toolFault(content: CallToolResult['content'], structured: unknown): Fault {
  const said = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const details = isJsonObject(structured as JsonValue) ? (structured as JsonObject) : undefined
  return new Fault('domain', said || 'The tool failed without a message.', {
    code: 'TOOL_FAILED',
    ...(details && JSON.stringify(details).length <= MAX_DETAILS && { details }),
  })
}
