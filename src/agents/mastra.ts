/** Tools for Mastra's agents, by name. Each tool runs its own calls. */
import { type AISDKSchema, createSchema } from './ai-sdk.ts'
import type { ToolSource } from './connection.ts'
import { type ToolResult, textWithout } from './results.ts'
import { openTools, type ToolsOptions } from './tools.ts'

export type MastraTools = Record<string, MastraTool>

export interface MastraTool {
  id: string
  description: string
  inputSchema: AISDKSchema
  execute(input: unknown, options?: MastraCall): Promise<ToolResult>
  /** Mastra passes nothing if the call failed before it ran. */
  toModelOutput(output: ToolResult | undefined): MastraOutput | undefined
}

/** The parts of Mastra's execution options that a call uses. */
export interface MastraCall {
  toolCallId?: string
  abortSignal?: AbortSignal | undefined
}

export type MastraOutput = { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: MastraPart[] }

export type MastraPart = { type: 'text'; text: string } | { type: 'media'; mediaType: string; data: string }

/** For `new Agent({ tools })`. */
export async function toMastraTools(source: ToolSource, options: ToolsOptions = {}): Promise<MastraTools> {
  const opened = await openTools(source, options)
  const tools = opened.list.map(({ name, description, parameters }): [string, MastraTool] => [
    name,
    {
      id: name,
      description,
      inputSchema: createSchema(parameters),
      execute: (input, { toolCallId = '', abortSignal } = {}) =>
        opened.call({ id: toolCallId, name, args: input }, { signal: abortSignal }),
      toModelOutput: (output) => output && encodeOutput(output),
    },
  ])
  return Object.fromEntries(tools)
}

function encodeOutput(result: ToolResult): MastraOutput {
  if (result.isError) return { type: 'error-text', value: textWithout(result, result.files) }
  if (result.files.length === 0) return { type: 'text', value: result.text }
  const files = result.files.map(({ mimeType, data }): MastraPart => ({ type: 'media', mediaType: mimeType, data }))
  return { type: 'content', value: result.text === '' ? files : [{ type: 'text', text: result.text }, ...files] }
}
