/** The Tool Contract's messages as they are sent. Fields that are not named here are tolerated and ignored. */
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
  /** Ours, besides what the text has: of all attempts together. */
  deadline_ms?: number
  /**
   * Ours as well: which of the runtime's attempts this is. The request id is the same in all of them, so that a tool can
   * tell the same attempt, sent twice, from the next one.
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

/** docs/readings.md#a8: nine in the text's list, six in its tables; a closed set. */
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

/** The unary RPC, as a path. */
export const EXECUTE_METHOD = '/orloj.tool.v1.ToolService/Execute'
