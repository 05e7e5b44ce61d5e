/** Tools for LlamaIndex: plain objects that its agents and models accept. Each tool runs its own calls. */
import type { JsonValue } from '../core/json.ts'
import type { ToolSource } from './connection.ts'
import { type ToolResult, textWithout } from './results.ts'
import type { ObjectSchema } from './schema.ts'
import { openTools, type ToolsOptions } from './tools.ts'

export interface LlamaIndexTool {
  metadata: { name: string; description: string; parameters: ObjectSchema }
  /** LlamaIndex passes no id of the call, so a repeated run starts a new call. */
  call(input: unknown): Promise<LlamaIndexOutput>
}

/** JSON without null, which LlamaIndex refuses. */
export type LlamaIndexOutput = string | number | boolean | LlamaIndexOutput[] | { [key: string]: LlamaIndexOutput }

/** For `agent({ tools })`. */
export async function toLlamaIndexTools(source: ToolSource, options: ToolsOptions = {}): Promise<LlamaIndexTool[]> {
  const opened = await openTools(source, options)
  return opened.list.map(({ name, description, parameters }) => ({
    metadata: { name, description, parameters },
    async call(input) {
      return encodeOutput(await opened.call({ id: '', name, args: input }))
    },
  }))
}

/** LlamaIndex writes the value as JSON itself. JSON in a text would be escaped twice. */
function encodeOutput(result: ToolResult): LlamaIndexOutput {
  const { isError, files, value } = result
  return isError || files.length > 0 || !isWithoutNull(value) ? textWithout(result, files) : value
}

function isWithoutNull(value: JsonValue | undefined): value is LlamaIndexOutput {
  if (value === null || value === undefined) return false
  return typeof value !== 'object' || Object.values(value).every((member) => isWithoutNull(member))
}
