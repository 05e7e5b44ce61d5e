/** Tools for the OpenAI Agents SDK (`@openai/agents`): function tools that run their own calls. */
import type { ToolSource } from './connection.ts'
import { splitImages, type ToolResult } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { openTools, type ToolsOptions } from './tools.ts'

/** A `FunctionTool` of the package. */
export interface OpenAIAgentsTool {
  type: 'function'
  name: string
  description: string
  parameters: OpenAIAgentsSchema
  strict: false
  invoke(runContext: unknown, input: string, details?: OpenAIAgentsDetails): Promise<string | OpenAIAgentsPart[]>
  /** The server asks for approvals itself. */
  needsApproval(): Promise<boolean>
  isEnabled(): Promise<boolean>
}

export interface OpenAIAgentsSchema {
  type: 'object'
  properties: Record<string, object>
  required: string[]
  additionalProperties: true
}

/** The parts of `ToolCallDetails` that a call uses. */
export interface OpenAIAgentsDetails {
  toolCall?: { callId: string }
  signal?: AbortSignal
}

export type OpenAIAgentsPart = { type: 'text'; text: string } | { type: 'image'; image: string }

/** For `new Agent({ tools })`. */
export async function toOpenAIAgentsTools(source: ToolSource, options: ToolsOptions = {}): Promise<OpenAIAgentsTool[]> {
  const opened = await openTools(source, options)
  return opened.list.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters: encodeSchema(parameters),
    strict: false,
    async invoke(_runContext, input, { toolCall, signal } = {}) {
      return encodeOutput(await opened.call({ id: toolCall?.callId ?? '', name, args: input }, { signal }))
    },
    needsApproval: async () => false,
    isEnabled: async () => true,
  }))
}

/** The package requires members that JSON Schema leaves out. They have the same meaning. */
function encodeSchema(parameters: ObjectSchema): OpenAIAgentsSchema {
  return { required: [], additionalProperties: true, ...parameters } as unknown as OpenAIAgentsSchema
}

function encodeOutput(result: ToolResult): string | OpenAIAgentsPart[] {
  const { text, images } = splitImages(result)
  if (images.length === 0) return text
  const shown = images.map((image): OpenAIAgentsPart => ({ type: 'image', image }))
  return text === '' ? shown : [{ type: 'text', text }, ...shown]
}
