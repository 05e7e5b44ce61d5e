/**
 * The fields of executions in logs and spans, with the names of the Tool Contract ("Observability Requirements"). The
 * Contract's adapter supplies the words for failures.
 */

import type { Outcome } from '../../core/call/instance.ts'
import type { FaultKind, FaultRecord } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'

export interface ToolWords {
  /** The version of the Contract. */
  readonly version: string
  describe(kind: FaultKind): { status: 'error' | 'denied'; code: string; reason: string }
  /** The failure on one line. Equal failures have equal lines. */
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

/** Only the name of the secret; its value is not available here. */
export function authFields({ auth }: Operation) {
  return auth ? { tool_auth_profile: auth.profile, tool_auth_secret_ref: auth.secretRef } : {}
}
