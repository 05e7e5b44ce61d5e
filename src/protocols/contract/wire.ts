/** The Tool Contract's messages. Unknown fields are ignored. */
import type { JsonObject } from '../../core/json.ts'

export const CONTRACT_VERSION = 'v1'
export const VERSION_HEADER = 'x-tool-contract-version'

export interface ToolExecutionRequest {
  tool_contract_version: string
  request_id: string
  task_id: string
  namespace: string
  agent: string
  tool: { name: string; operation: string; capabilities: readonly string[]; risk_level: string }
  input: JsonObject
  input_raw: string
  runtime: RuntimeTerms
  auth: { profile: string; secret_ref: string; scopes: readonly string[] }
  trace: Trace
}

export interface RuntimeTerms {
  mode: string
  timeout_ms: number
  max_attempts: number
  backoff: string
  max_backoff_ms: number
  jitter: boolean
  /** Our extension: time limit for all attempts together. */
  deadline_ms?: number
  /**
   * Our extension: number of the runtime's attempt. All attempts have the same request id, so a tool needs this number
   * to distinguish a repeated attempt from the next one.
   */
  attempt?: number
}

export interface Trace {
  trace_id: string
  span_id: string
}

export type ToolStatus = 'ok' | 'error' | 'denied'

export interface ToolExecutionResponse {
  tool_contract_version: string
  request_id: string
  status: ToolStatus
  output?: JsonObject
  error?: ToolExecutionError
  usage: { duration_ms: number; attempt: number }
  trace: Trace
}

export interface ToolExecutionError {
  code: ContractCode
  reason: string
  retryable: boolean
  message: string
  details: JsonObject
}

/** A closed set: the specification lists nine codes and has six more in its tables. docs/readings.md#a8. */
export type ContractCode =
  | 'invalid_input'
  | 'unsupported_tool'
  | 'runtime_policy_invalid'
  | 'isolation_unavailable'
  | 'permission_denied'
  | 'secret_resolution_failed'
  | 'timeout'
  | 'canceled'
  | 'execution_failed'
  | 'auth_invalid'
  | 'auth_forbidden'
  | 'auth_expired'
  | 'approval_pending'
  | 'approval_denied'
  | 'approval_timeout'

/** Path of the unary RPC. */
export const EXECUTE_METHOD = '/orloj.tool.v1.ToolService/Execute'
