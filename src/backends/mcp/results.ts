/** What a tool has answered, as a result of an operation or as its failure. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

const MAX_DETAILS = 4_000

/**
 * Structured content is the result. One text is what every remote tool's text is: the JSON object in it, or
 * `{ result: text }`. Everything else keeps MCP's own shape.
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

/** The tool ran and says that it failed, in words that are meant for whoever called it. */
function toolFault(content: CallToolResult['content'], structured: unknown): Fault {
  const said = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const details = isJsonObject(structured as JsonValue) ? (structured as JsonObject) : undefined
  return new Fault('domain', said || 'The tool failed without saying why.', {
    code: 'TOOL_FAILED',
    ...(details && JSON.stringify(details).length <= MAX_DETAILS && { details }),
  })
}
