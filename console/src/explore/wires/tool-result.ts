/** MCP's result of a tool, which the Tool Execution API has, too: the value is in it twice, as text and structured. */
import { sliceOf } from './json-slice.ts'
import { parseObject } from './parse-json.ts'

interface ToolResult {
  content?: { type: string; text?: string }[]
  structuredContent?: unknown
  isError?: boolean
}

/**
 * The JSON text of the value, if the server encoded a plain value. `undefined` if the operation returned content of its
 * own, such as an image, or failed. `path` leads to the tool result.
 */
export function plainValue(text: string, ...path: readonly string[]): string | undefined {
  const raw = sliceOf(text, ...path)
  const result = parseObject<ToolResult>(raw ?? '')
  const [content, ...more] = result.content ?? []
  if (result.isError || more.length > 0 || content?.type !== 'text' || content.text === undefined) return undefined
  const structured = sliceOf(text, ...path, 'structuredContent')
  if (structured === undefined) return JSON.stringify(content.text)
  if (typeof result.structuredContent === 'string') return structured
  const isWrapped = structured === `{"result":${content.text}}`
  return isWrapped || structured === content.text ? content.text : undefined
}
