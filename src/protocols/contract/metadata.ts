/**
 * Log fields and log line of a failure. "Runtime failures must emit deterministic metadata fields":
 * docs/readings.md#a33.
 */
import { canonicalJson, type JsonValue } from '../../core/json.ts'
import { CONTRACT_VERSION, type ToolExecutionResponse } from './wire.ts'

export interface FailureMetadata {
  tool_contract_version: string
  tool_request_id: string
  tool_attempt: number
  tool_status: string
  tool_code: string
  tool_reason: string
  retryable: boolean
}

/** Returns `undefined` for a response without an error. */
export function failureMetadata(response: ToolExecutionResponse): FailureMetadata | undefined {
  const { error, request_id, status, usage } = response
  if (!error) return undefined
  return {
    tool_contract_version: CONTRACT_VERSION,
    tool_request_id: request_id,
    tool_attempt: usage.attempt,
    tool_status: status,
    tool_code: error.code,
    tool_reason: error.reason,
    retryable: error.retryable,
  }
}

/** Returns the same line for the same failure: the four fields, the message, and the details sorted by key. */
export function failureLine({ status, error }: ToolExecutionResponse): string {
  if (!error) return `tool_status=${status}`
  const { code, reason, retryable, message, details } = error
  const facts = Object.keys(details)
    .sort()
    .map((key) => ` ${key}=${quoted(details[key] ?? null)}`)
  return `tool_status=${status} tool_code=${code} tool_reason=${reason} retryable=${retryable} message=${JSON.stringify(message)}${facts.join('')}`
}

function quoted(value: JsonValue): string {
  return typeof value === 'string' && /^[\w.:#/-]+$/.test(value) ? value : canonicalJson(value)
}
