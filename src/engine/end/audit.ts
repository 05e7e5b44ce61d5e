/** Builds the entries of the audit trail. */

import { type Digest, storedFingerprint } from '../../core/call/fingerprint.ts'
import { type Instance, type Outcome, startsOf } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Decision } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { AuditEnding, AuditEntry } from '../../core/ports/store.ts'
import { type Admitted, askedFingerprint } from '../admit/admitted.ts'

export function auditInstance(digest: Digest, instance: Instance, ending: AuditEnding, endedAt: number): AuditEntry {
  const { id, tenant, owner, requestId, operation, createdAt: startedAt } = instance
  const fingerprint = storedFingerprint(digest, instance)
  return { id, tenant, owner, requestId, operation, fingerprint, ...ending, startedAt, endedAt }
}

export function auditEnding(instance: Instance, { backend, internal }: Operation, end: Outcome): AuditEnding {
  const { extras, failures } = instance
  const isFault = end.kind === 'fault'
  const ending: AuditEnding = {
    verdict: extras?.held ? 'hold' : 'allow',
    backend: backend.kind,
    attempts: startsOf(instance) === 0 ? 0 : failures + 1,
    outcome: isFault ? end.fault.kind : 'complete',
  }
  if (isFault) ending.code = end.fault.code
  if (extras?.rule !== undefined) ending.rule = extras.rule
  if (extras?.approvalId !== undefined) ending.approvalId = extras.approvalId
  const why = internal === true ? whyIn(instance.args) : undefined
  if (why !== undefined) ending.about = { why }
  return ending
}

/** What an operator who cancels, replays, dismisses or decides gives as the reason. */
function whyIn(args: JsonValue): string | undefined {
  return isJsonObject(args) && typeof args.why === 'string' ? args.why : undefined
}

/** The entry of an unrecorded call. */
export function auditUnrecorded(
  env: Environment,
  admitted: Admitted,
  outcome: Outcome,
  startedAt: number,
  attempts: number,
): AuditEntry {
  const { decision, grant } = admitted
  const entry = entryOf(env, admitted, startedAt)
  entry.attempts = attempts
  if (outcome.kind === 'fault') {
    entry.outcome = outcome.fault.kind
    entry.code = outcome.fault.code
  }
  if (decision?.rule !== undefined) entry.rule = decision.rule
  if (grant) entry.approvalId = grant.id
  return entry
}

/** The entry of a call that a rule refused. */
export function auditRefusal(env: Environment, admitted: Admitted, decision: Decision, why: Fault): AuditEntry {
  const approvalId = why.details?.approval_id
  return {
    ...entryOf(env, admitted, env.clock.now()),
    verdict: decision.verdict,
    ...(decision.rule !== undefined && { rule: decision.rule }),
    ...(typeof approvalId === 'string' && { approvalId }),
    outcome: why.kind,
    code: why.code,
  }
}

/** One object literal, because it may be built for every unrecorded call. */
function entryOf(env: Environment, admitted: Admitted, startedAt: number): AuditEntry {
  const { id, call, caller, owner, operation } = admitted
  return {
    id,
    tenant: caller.tenant,
    owner,
    requestId: call.requestId,
    operation: operation.key,
    fingerprint: askedFingerprint(env, admitted),
    verdict: 'allow',
    backend: operation.backend.kind,
    attempts: 0,
    outcome: 'complete',
    startedAt,
    endedAt: env.clock.now(),
  }
}
