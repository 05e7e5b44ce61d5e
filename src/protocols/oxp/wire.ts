/**
 * OXP 1.0 and OTC 1.0 on the wire. Three dialects of one protocol: OXP flat (bare bodies, its version in a header), OXP
 * wrapped (what the published SDKs speak) and OTC, which wrap in `request` and `result` and carry `$schema`.
 */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Given } from '../../core/requirements.ts'

export type Dialect = 'flat' | 'wrapped' | 'otc'

/** Sent in `OXP-Version` with every answer. */
export const OXP_VERSION = '1.0'

/** The `$schema` a dialect's answers carry. */
export const MARKERS = { wrapped: 'urn:oxp:1.0', otc: 'otc://1.0' } as const

/** What a call asks for, once checked. */
export interface CallToolRequest {
  toolId: string
  callId?: string
  traceId?: string
  input: JsonObject
  /** What the client hands over for this call only. */
  context?: Given
}

/** The tool ran, or was meant to: `value` on success, `error` otherwise. */
export type CallToolResponse = { call_id: string; duration: number } & (
  | { success: true; value: JsonValue }
  | { success: false; error: ToolError }
)

export interface ToolError {
  message: string
  developer_message?: string
  can_retry: boolean
  additional_prompt_content?: string
  retry_after_ms?: number
}

/** 400: it was refused before the tool was called. */
export interface ServerErrorResponse {
  message: string
  developer_message?: string
  missing_requirements?: MissingRequirements
}

export interface MissingRequirements {
  authorization?: readonly AuthorizationChallenge[]
  user_id?: true
  /** Not in the specification, which names no other way to say it. */
  secrets?: readonly { id: string }[]
}

export interface AuthorizationChallenge {
  id: string
  url: string
  check_url?: string
}

/** 422. A nested parameter stands under its path, joined with dots. */
export interface ValidationErrorResponse {
  message: string
  parameter_errors?: Record<string, string>
}

export interface ToolDefinition {
  /** With its version, so that it is one tool's alone. */
  id: string
  name: string
  description: string
  version: string
  input_schema: JsonObject
  /** `null` where the tool returns nothing. */
  output_schema: JsonObject | null
  requirements?: ToolRequirements
}

export interface ToolRequirements {
  authorization?: { id: string; oauth2?: { scopes: string[] } }[]
  secrets?: { id: string }[]
  user_id?: true
}

/** A result that is not in the reply: where its bytes are. */
export type LocatedValue = { uri: string; mimeType?: string; auth?: JsonObject; value?: JsonValue }
