/**
 * The fields by which logs and spans tell of executions, as the Tool Contract names them ("Observability
 * Requirements"). Which words a failure has is for whoever knows the Contract.
 */
import type { FaultKind, FaultRecord } from '../../core/fault.ts'
import type { Outcome } from '../../core/instance.ts'
import type { Operation } from '../../core/operation.ts'

export interface ToolWords {
  /** Of the Contract. */
  readonly version: string
  describe(kind: FaultKind): { status: 'error' | 'denied'; code: string; reason: string }
  /** The failure on one line, the same for the same failure. */
  line(fault: FaultRecord): string
}

export interface OutcomeFields {
  tool_status: 'ok' | 'error' | 'denied'
  tool_code?: string
  tool_reason?: string
  retryable?: boolean
}

export function outcomeFields({ describe }: ToolWords, outcome: Outcome): OutcomeFields {
  if (outcome.kind !== 'fault') return { tool_status: 'ok' }
  const { status, code, reason } = describe(outcome.fault.kind)
  return { tool_status: status, tool_code: code, tool_reason: reason, retryable: outcome.fault.retryable }
}

/** The secret's name; its value is known to nobody here. */
export function authFields({ auth }: Operation) {
  return auth ? { tool_auth_profile: auth.profile, tool_auth_secret_ref: auth.secretRef } : {}
}
