/** Tools for the `ai` package (the AI SDK): a ToolSet whose tools run their own calls. */
import type { JsonObject } from '../core/json.ts'
import type { StandardSchema } from '../core/operation/schema.ts'
import type { ToolSource } from './connection.ts'
import { type ToolResult, textWithout } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { openTools, type ToolsOptions } from './tools.ts'

/** The tools by name, for `generateText`, `streamText` and agents. */
export type AISDKTools = Record<string, AISDKTool>

export interface AISDKTool {
  /** The types are known only at run time. */
  type: 'dynamic'
  description: string
  inputSchema: AISDKSchema
  execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<ToolResult>
  toModelOutput(options: { output: ToolResult }): AISDKOutput
}

/** A Standard Schema that accepts every value: the server checks the arguments and tells the model what is wrong. */
export interface AISDKSchema extends StandardSchema<unknown, unknown> {
  readonly jsonSchema: ObjectSchema
}

export type AISDKOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | { type: 'content'; value: AISDKPart[] }

export type AISDKPart =
  | { type: 'text'; text: string }
  | { type: 'file'; mediaType: string; data: { type: 'data'; data: string } }

export async function toAISDKTools(source: ToolSource, options: ToolsOptions = {}): Promise<AISDKTools> {
  const opened = await openTools(source, options)
  const tools = opened.list.map(({ name, description, parameters }): [string, AISDKTool] => [
    name,
    {
      type: 'dynamic',
      description,
      inputSchema: createSchema(parameters),
      execute: (input, { toolCallId, abortSignal }) =>
        opened.call({ id: toolCallId, name, args: input }, { signal: abortSignal }),
      toModelOutput: ({ output }) => encodeOutput(output),
    },
  ])
  return Object.fromEntries(tools)
}

/** The package uses a schema with this symbol unchanged. It closes other schemas to additional properties. */
const SCHEMA = Symbol.for('vercel.ai.schema')

export function createSchema(parameters: ObjectSchema): AISDKSchema {
  const json = () => parameters as JsonObject
  return Object.assign(
    {
      '~standard': {
        version: 1 as const,
        vendor: 'callplane',
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: json, output: json },
      },
      jsonSchema: parameters,
      validate: undefined,
    },
    { [SCHEMA]: true },
  )
}

function encodeOutput(result: ToolResult): AISDKOutput {
  if (result.isError) return { type: 'error-text', value: textWithout(result, result.files) }
  if (result.files.length === 0) return { type: 'text', value: result.text }
  const files = result.files.map(({ mimeType, data }): AISDKPart => {
    return { type: 'file', mediaType: mimeType, data: { type: 'data', data } }
  })
  return { type: 'content', value: result.text === '' ? files : [{ type: 'text', text: result.text }, ...files] }
}
