/** A call that has passed every check, and the instance that is recorded for it. */

import type { Call, MediaInput } from '../../core/call/call.ts'
import { correlate } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { fingerprintOf } from '../../core/call/fingerprint.ts'
import type { Instance, InstanceDraft, InstanceExtras, KeptAddress, StreamState } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { broughtIn, type Given } from '../../core/operation/requirements.ts'
import type { Decision } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange } from '../../core/ports/store.ts'
import { deadlineOf } from '../attempt/call-terms.ts'
import type { Job } from '../attempt/job.ts'
import type { ApprovalRequest, Grant } from '../wait/approvals.ts'

export interface Admitted {
  id: string
  call: Call
  operation: Operation
  caller: Caller
  tenant: string
  owner: string
  /** The schema's output for `call.args`. */
  parsed: unknown
  media: readonly MediaInput[]
  /** Secrets and tokens for this call only. */
  given?: Given
  /** The sealed secrets of `given`. The record is written with the call. */
  sealed?: RecordChange
  /** The decision of the policy, if there is a policy. */
  decision?: Decision
  /** The call waits for an approval before it runs. */
  held?: true
  /** The place of its frames, if the operation is a stream. */
  stream?: StreamState
  /** Where its end goes if its connection is gone. */
  replyTo?: KeptAddress
  /** An earlier approval, which this call uses. */
  grant?: Grant
  /** The call repeats another one for an operator. */
  replay?: { of: string; by: string }
  /** Further records to write with the call. */
  together?: readonly RecordChange[]
  /** Decides again, if another call used the approval first. */
  askAgain?: () => Promise<Admitted>
}

/** Minimum retention of a sync call that did not end within the caller's wait. */
export const OVERRUN_RETENTION_MS = 600_000
/** Minimum retention of an idempotency key. */
const KEY_RETENTION_MS = 86_400_000

/** The progress of a call when it is recorded. Most calls are new. */
type Life = Partial<Pick<Instance, 'state' | 'attempt' | 'settled' | 'failures' | 'dueAt' | 'outcome' | 'endedAt'>>

/** `startedAt` is the arrival time. It is earlier than now for a call that ran unrecorded first. */
export function newInstance(env: Environment, admitted: Admitted, life: Life, startedAt = env.clock.now()): Instance {
  const { id, call, operation, caller, owner, media } = admitted
  const { idempotencyKey } = call
  const now = env.clock.now()
  const expiresAt = now + retentionMs(operation)
  const instance: InstanceDraft = {
    id,
    tenant: caller.tenant,
    owner,
    caller,
    requestId: call.requestId,
    operation: operation.key,
    model: operation.model,
    args: call.args,
    media,
    lineage: call.lineage ?? NO_LINEAGE,
    state: life.state ?? 'accepted',
    revision: 1,
    attempt: life.attempt ?? 0,
    settled: life.settled ?? 0,
    failures: life.failures ?? 0,
    rerunnable: operation.model === 'async' || (operation.model === 'sync' && !operation.sideEffecting),
    stopRequested: false,
    createdAt: startedAt,
    expiresAt,
    keepUntil: idempotencyKey === undefined ? expiresAt : Math.max(expiresAt, now + KEY_RETENTION_MS),
  }
  const extras = extrasOf(admitted, startedAt)
  correlate(instance, call)
  if (idempotencyKey !== undefined) instance.idempotencyKey = idempotencyKey
  if (extras) instance.extras = extras
  if (call.operation !== operation.name.full) instance.fingerprint = askedFingerprint(env, admitted)
  if (life.dueAt !== undefined) instance.dueAt = life.dueAt
  if (life.outcome) instance.outcome = life.outcome
  if (life.endedAt !== undefined) instance.endedAt = life.endedAt
  return instance
}

/** `undefined` for nearly every call. */
function extrasOf(admitted: Admitted, startedAt: number): InstanceExtras | undefined {
  const { id, call, operation, given, sealed, decision, held, grant, stream, replyTo, replay } = admitted
  const brought = given && broughtIn(given)
  const deadlineMs = held ? undefined : deadlineOf(operation, call.terms)
  const { terms, asking, calledBy } = call
  const hasOwn = brought?.length || sealed || terms || decision || asking || stream || replyTo || replay || calledBy
  if (!hasOwn && deadlineMs === undefined) return undefined
  const approvalId = held ? id : grant?.id
  const extras: InstanceExtras = {
    ...(brought?.length && { brought }),
    ...(sealed && { sealed: true }),
    ...(calledBy !== undefined && { calledBy }),
    ...(terms && { terms }),
    ...(asking && { asking }),
    ...(deadlineMs !== undefined && { deadlineAt: startedAt + deadlineMs }),
    ...(decision?.rule !== undefined && { rule: decision.rule }),
    ...(approvalId !== undefined && { approvalId }),
    ...(held && { held }),
    ...(stream && { stream }),
    ...(replay && { replayOf: replay.of, replayedBy: replay.by }),
    ...(replyTo && { replyTo }),
  }
  return extras
}

export function approvalRequest(env: Environment, admitted: Admitted, decision: Decision): ApprovalRequest {
  const { caller, operation, call, media, replay } = admitted
  return {
    ...(replay && { replayedBy: replay.by }),
    caller,
    operation,
    args: call.args,
    attachments: media.map((item) => attachmentOf(operation, item)),
    fingerprint: askedFingerprint(env, admitted),
    decision,
    nested: (call.lineage?.length ?? 0) > 0,
  }
}

/** The content behind a reference can change between the approval and the run, so only stored bytes can be approved. */
function attachmentOf(operation: Operation, { name, mimeType, source }: MediaInput) {
  if (source.kind === 'object') return { name, mimeType, bytes: source.bytes, sha256: source.sha256 }
  const message = `${operation.name.full} needs an approval, and the content behind the URI of the attachment "${name}" can change after the approval. Send the bytes instead.`
  throw new Fault('invalid-input', message, { code: 'ATTACHMENT_BY_REFERENCE', details: { attachment: name } })
}

export function retentionMs(operation: Operation): number {
  const ttlMs = operation.ttlSeconds * 1000
  // A stream ends at its ttl, and its caller can poll its end for a while.
  if (operation.model === 'stream') return ttlMs + OVERRUN_RETENTION_MS
  return operation.model === 'sync' ? Math.max(ttlMs, OVERRUN_RETENTION_MS) : ttlMs
}

export function askedFingerprint(env: Environment, { call, caller, media }: Admitted): string {
  return fingerprintOf(env.digest, { operation: call.operation, args: call.args, media, caller })
}

export function jobFor({ id, operation, caller, call, media, given }: Admitted): Job {
  const { requestId, terms, asking, lineage = NO_LINEAGE } = call
  const job: Job = { id, operation, caller, requestId, media, lineage }
  correlate(job, call)
  if (terms) job.terms = terms
  if (asking) job.asking = asking
  if (given) job.given = given
  return job
}

const NO_LINEAGE: readonly string[] = []

/** How long the caller of a sync operation waits for a direct reply. */
export function waitLimit(operation: Operation, call: Call): number {
  return Math.min(call.waitMs ?? operation.maxSyncMs, operation.maxSyncMs)
}
