/** Tools in the shapes of the `@anthropic-ai/sdk` package, for the Messages API. */
import type { ToolSource } from './connection.ts'
import { type ToolResult, textWithout } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { type CallSettings, openTools, type ToolsOptions } from './tools.ts'

export interface AnthropicTools {
  /** For `messages.create`. */
  tools: AnthropicTool[]
  /** Runs one `tool_use` block and returns the matching `tool_result` block. */
  call(block: AnthropicToolUse, settings?: CallSettings): Promise<AnthropicToolResult>
}

export interface AnthropicTool {
  name: string
  description: string
  input_schema: ObjectSchema
}

export interface AnthropicToolUse {
  type: 'tool_use'
  id: string
  name: string
  input: unknown
}

export interface AnthropicToolResult {
  type: 'tool_result'
  tool_use_id: string
  content: AnthropicContent[]
  is_error?: boolean
}

export type AnthropicContent =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
type ImageType = (typeof IMAGE_TYPES)[number]

export async function toAnthropicTools(source: ToolSource, options: ToolsOptions = {}): Promise<AnthropicTools> {
  const opened = await openTools(source, options)
  return {
    tools: opened.list.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    async call({ id, name, input }, settings) {
      const result = await opened.call({ id, name, args: input }, settings)
      return {
        type: 'tool_result',
        tool_use_id: id,
        content: encodeContent(result),
        ...(result.isError && { is_error: true }),
      }
    },
  }
}

/** A text block must not be empty, but a result may be. */
function encodeContent(result: ToolResult): AnthropicContent[] {
  const unshown = result.files.filter(({ mimeType }) => !isImageType(mimeType))
  const text = textWithout(result, unshown)
  const images = result.files.flatMap(({ mimeType, data }): AnthropicContent[] =>
    isImageType(mimeType) ? [{ type: 'image', source: { type: 'base64', media_type: mimeType, data } }] : [],
  )
  return text === '' ? images : [{ type: 'text', text }, ...images]
}

function isImageType(mimeType: string): mimeType is ImageType {
  return IMAGE_TYPES.some((type) => type === mimeType)
}
