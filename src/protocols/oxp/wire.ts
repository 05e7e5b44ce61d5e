/**
 * Types of OXP 1.0 and OTC 1.0, which are three dialects of one protocol. OXP flat has plain bodies and its version in
 * a header. OXP wrapped (used by the published SDKs) and OTC wrap bodies in `request` and `result` with a `$schema`.
 */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Given } from '../../core/operation/requirements.ts'

export type Dialect = 'flat' | 'wrapped' | 'otc'

/** Sent in `OXP-Version` with every response. */
export const OXP_VERSION = '1.0'

/** The `$schema` of each dialect's responses. */
export const MARKERS = { wrapped: 'urn:oxp:1.0', otc: 'otc://1.0' } as const

/** A parsed call. */
export interface CallToolRequest {
  toolId: string
  callId?: string
  traceId?: string
  input: JsonObject
  /** Secrets, tokens and user id for this call only. */
  context?: Given
}

/** Response to a call that was admitted: `value` on success, otherwise `error`. */
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
  /** Our extension: a repeat with the same `call_id` joins the call. A repeat with another one runs the tool again. */
  still_running?: true
}

/** 400: the request was refused before the tool was called. */
export interface ServerErrorResponse {
  message: string
  developer_message?: string
  missing_requirements?: MissingRequirements
}

export interface MissingRequirements {
  authorization?: readonly AuthorizationChallenge[]
  user_id?: true
  /** Our extension: the specification has no field for missing secrets. */
  secrets?: readonly { id: string }[]
}

export interface AuthorizationChallenge {
  id: string
  url: string
  check_url?: string
}

/** 422. The key of a nested parameter is its path, joined with dots. */
export interface ValidationErrorResponse {
  message: string
  parameter_errors?: Record<string, string>
}

export interface ToolDefinition {
  /** Contains the version, so that it is unique. */
  id: string
  name: string
  description: string
  version: string
  input_schema: JsonObject
  /** `null` if the tool returns nothing. */
  output_schema: JsonObject | null
  requirements?: ToolRequirements
}

export interface ToolRequirements {
  authorization?: { id: string; oauth2?: { scopes: string[] } }[]
  secrets?: { id: string }[]
  user_id?: true
}

/** The address of a result that is not in the reply. */
export type LocatedValue = { uri: string; mimeType?: string; auth?: JsonObject; value?: JsonValue }
