/** What is kept of a call in the trail of who did what. */
import { type Admitted, fingerprintOf } from './admitted.ts'
import type { Fault } from './fault.ts'
import type { Instance, Outcome } from './model.ts'
import type { Operation } from './operation.ts'
import type { AuditEntry, Decision, Environment } from './ports.ts'

export function auditInstance(instance: Instance, operation: Operation, outcome: Outcome, endedAt: number): AuditEntry {
  const { extras } = instance
  return {
    id: instance.id,
    tenant: instance.tenant,
    owner: instance.owner,
    requestId: instance.requestId,
    operation: instance.operation,
    fingerprint: instance.fingerprint,
    verdict: extras?.held ? 'hold' : 'allow',
    ...(extras?.rule !== undefined && { rule: extras.rule }),
    ...(extras?.approvalId !== undefined && { approvalId: extras.approvalId }),
    backend: operation.backend.kind,
    attempts: instance.attempt === 0 ? 0 : instance.failures + 1,
    ...outcomeFields(outcome),
    startedAt: instance.createdAt,
    endedAt,
  }
}

/** Of a call that was not recorded: it ended where it began. */
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
  if (outcome.kind === 'fault') Object.assign(entry, outcomeFields(outcome))
  if (decision?.rule !== undefined) entry.rule = decision.rule
  if (grant) entry.approvalId = grant.id
  return entry
}

/** Of a call that a rule did not let pass. */
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

/** Every unrecorded call may be told of, so that most of them should take one literal and nothing more. */
function entryOf(env: Environment, admitted: Admitted, startedAt: number): AuditEntry {
  const { id, call, caller, owner, operation } = admitted
  return {
    id,
    tenant: caller.tenant,
    owner,
    requestId: call.requestId,
    operation: operation.key,
    fingerprint: fingerprintOf(env, admitted),
    verdict: 'allow',
    backend: operation.backend.kind,
    attempts: 0,
    outcome: 'complete',
    startedAt,
    endedAt: env.clock.now(),
  }
}

function outcomeFields(outcome: Outcome): { outcome: string; code?: string } {
  return outcome.kind === 'fault' ? { outcome: outcome.fault.kind, code: outcome.fault.code } : { outcome: 'complete' }
}
