/** Tools as the `ai` package (the AI SDK) runs them: a ToolSet whose tools execute themselves. */
import type { JsonObject } from '../core/json.ts'
import type { StandardSchema } from '../core/schema.ts'
import type { ToolSource } from './connection.ts'
import { type ToolResult, textWithout } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { openTools, type ToolsOptions } from './tools.ts'

/** For `generateText`, `streamText` and agents, by name. */
export type AISDKTools = Record<string, AISDKTool>

export interface AISDKTool {
  /** Known at run time only. */
  type: 'dynamic'
  description: string
  inputSchema: AISDKSchema
  execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<ToolResult>
  toModelOutput(options: { output: ToolResult }): AISDKOutput
}

/** A Standard Schema that lets everything pass: the server checks arguments, and tells the model what is wrong with them. */
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

/** By which the package knows a schema that it takes as it is; others it closes to properties they do not name. */
const SCHEMA = Symbol.for('vercel.ai.schema')

function createSchema(parameters: ObjectSchema): AISDKSchema {
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
