/**
 * Tools for LangChain and LangGraph: instances of LangChain's own class, which the application passes. Each tool runs
 * its own calls.
 */
import type { ToolSource } from './connection.ts'
import { splitImages, type ToolResult } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { openTools, type ToolsOptions } from './tools.ts'

export interface LangChainOptions<Tool> extends ToolsOptions {
  /** The class of `@langchain/core/tools`. */
  DynamicStructuredTool: new (
    fields: LangChainFields,
  ) => Tool
}

export interface LangChainFields {
  name: string
  description: string
  schema: ObjectSchema
  responseFormat: 'content_and_artifact'
  func(input: unknown, runManager?: unknown, config?: LangChainConfig): Promise<LangChainOutput>
}

/** The parts of `ToolRunnableConfig` that a call uses. */
export interface LangChainConfig {
  toolCall?: { id?: string | undefined } | undefined
  signal?: AbortSignal | undefined
}

/** The content for the model, and the whole result as the message's artifact. */
export type LangChainOutput = [content: string | LangChainPart[], artifact: ToolResult]

export type LangChainPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

export async function toLangChainTools<Tool>(source: ToolSource, options: LangChainOptions<Tool>): Promise<Tool[]> {
  const opened = await openTools(source, options)
  return opened.list.map(
    ({ name, description, parameters }) =>
      new options.DynamicStructuredTool({
        name,
        description,
        schema: parameters,
        responseFormat: 'content_and_artifact',
        async func(input, _runManager, { toolCall, signal } = {}) {
          const result = await opened.call({ id: toolCall?.id ?? '', name, args: input }, { signal })
          return [encodeContent(result), result]
        },
      }),
  )
}

function encodeContent(result: ToolResult): string | LangChainPart[] {
  const { text, images } = splitImages(result)
  if (images.length === 0) return text
  const shown = images.map((url): LangChainPart => ({ type: 'image_url', image_url: { url } }))
  return text === '' ? shown : [{ type: 'text', text }, ...shown]
}
