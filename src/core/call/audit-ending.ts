/** The short form in which stores keep the audit entry of a call beside the call itself. */
import type { AuditEnding } from '../ports/store.ts'

/** The values of nearly every entry. Only values that differ are written. */
export const USUAL_ENDING = { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' } as const

/** The fields that are not in the row of the call. */
export function encodeEnding(ending: AuditEnding): string {
  const { verdict, rule, approvalId, backend, attempts, outcome, code } = ending
  const own: Partial<AuditEnding> = {}
  if (backend !== USUAL_ENDING.backend) own.backend = backend
  if (verdict !== USUAL_ENDING.verdict) own.verdict = verdict
  if (attempts !== USUAL_ENDING.attempts) own.attempts = attempts
  if (outcome !== USUAL_ENDING.outcome) own.outcome = outcome
  if (rule !== undefined) own.rule = rule
  if (approvalId !== undefined) own.approvalId = approvalId
  if (code !== undefined) own.code = code
  return JSON.stringify(own)
}
