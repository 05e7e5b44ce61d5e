/** Tools in the shapes of the `openai` package: for Chat Completions, and for the Responses API. */
import type { ToolSource } from './connection.ts'
import { splitImages, type ToolResult, textWithout } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { type AgentTools, type CallSettings, openTools, type ToolsOptions } from './tools.ts'

export interface OpenAIChatTools {
  /** For `chat.completions.create`. */
  tools: ChatTool[]
  /** Runs one of `message.tool_calls` and returns the matching tool message. */
  call(toolCall: ChatToolCall, settings?: CallSettings): Promise<ChatToolMessage>
}

export interface ChatTool {
  type: 'function'
  function: { name: string; description: string; parameters: ObjectSchema }
}

export type ChatToolCall =
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } }

export interface ChatToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

export interface OpenAIResponsesTools {
  /** For `responses.create`. */
  tools: ResponsesTool[]
  /** Runs one `function_call` of `response.output` and returns the matching output item. */
  call(item: ResponsesToolCall, settings?: CallSettings): Promise<ResponsesToolOutput>
}

export interface ResponsesTool {
  type: 'function'
  name: string
  description: string
  parameters: ObjectSchema
  strict: false
}

export interface ResponsesToolCall {
  type: 'function_call'
  call_id: string
  name: string
  arguments: string
}

export interface ResponsesToolOutput {
  type: 'function_call_output'
  call_id: string
  output: string | ResponsesPart[]
}

export type ResponsesPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }

export interface OpenAIOptions extends ToolsOptions {
  /** Default: `chat`. */
  api?: 'chat' | 'responses'
}

export function toOpenAITools(
  source: ToolSource,
  options: OpenAIOptions & { api: 'responses' },
): Promise<OpenAIResponsesTools>
export function toOpenAITools(source: ToolSource, options?: OpenAIOptions & { api?: 'chat' }): Promise<OpenAIChatTools>
export async function toOpenAITools(
  source: ToolSource,
  { api = 'chat', ...options }: OpenAIOptions = {},
): Promise<OpenAIChatTools | OpenAIResponsesTools> {
  const opened = await openTools(source, options)
  return api === 'responses' ? forResponses(opened) : forChat(opened)
}

function forChat(opened: AgentTools): OpenAIChatTools {
  return {
    tools: opened.list.map((tool) => ({ type: 'function', function: tool })),
    async call(toolCall, settings) {
      const { name, args } = wantedBy(toolCall)
      const result = await opened.call({ id: toolCall.id, name, args }, settings)
      return { role: 'tool', tool_call_id: toolCall.id, content: textWithout(result, result.files) }
    },
  }
}

function forResponses(opened: AgentTools): OpenAIResponsesTools {
  return {
    // Strict schemas support only a subset of JSON Schema. The server checks the arguments in any case.
    tools: opened.list.map((tool) => ({ type: 'function', ...tool, strict: false })),
    async call({ call_id, name, arguments: args }, settings) {
      const result = await opened.call({ id: call_id, name, args }, settings)
      return { type: 'function_call_output', call_id, output: encodeOutput(result) }
    },
  }
}

/** A call of a custom tool is treated as a call of an unknown tool. */
function wantedBy(toolCall: ChatToolCall): { name: string; args: string } {
  if (toolCall.type === 'custom') return { name: toolCall.custom.name, args: toolCall.custom.input }
  return { name: toolCall.function.name, args: toolCall.function.arguments }
}

function encodeOutput(result: ToolResult): string | ResponsesPart[] {
  const { text, images } = splitImages(result)
  if (images.length === 0) return text
  const shown = images.map((image_url): ResponsesPart => ({ type: 'input_image', image_url, detail: 'auto' }))
  return text === '' ? shown : [{ type: 'input_text', text }, ...shown]
}
