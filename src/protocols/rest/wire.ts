/** Types of the Tool Execution API: listed tools, and MCP's CallToolResult. */
import type { JsonObject } from '../../core/json.ts'

/** MCP's content objects. Unknown types pass through unchanged. */
export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; mimeType: string; data: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string; size?: number }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: string; [field: string]: unknown }

export interface CallToolResult {
  content: readonly Content[]
  structuredContent?: JsonObject
  isError: boolean
  /** Absent, never null, if there is no trace id. */
  _meta?: JsonObject
}

/** A successful result may already be encoded as JSON text. */
export type EncodedResult = CallToolResult | string

export interface ToolAnnotations {
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

export interface ToolSummary {
  name: string
  description: string
  annotations?: ToolAnnotations
}

export interface ToolDetail extends ToolSummary {
  inputSchema: unknown
}

export interface ValidationFailure {
  /** JSON Pointer into the arguments. Empty for the arguments as a whole. */
  path: string
  message: string
  keyword?: string
}

export type ValidateResult = { valid: true } | { valid: false; errors: readonly ValidationFailure[] }
