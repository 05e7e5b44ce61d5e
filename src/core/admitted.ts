/** A call that has passed every check, and the instance it becomes when it is recorded. */
import type { Job } from './job.ts'
import { canonicalJson } from './json.ts'
import type { Call, Caller, Instance, MediaInput } from './model.ts'
import type { Operation } from './operation.ts'
import type { Environment } from './ports.ts'
import type { Given } from './requirements.ts'

export interface Admitted {
  id: string
  call: Call
  operation: Operation
  caller: Caller
  owner: string
  /** The schema's output of `call.args`. */
  parsed: unknown
  media: readonly MediaInput[]
  /** Handed over for this call only. */
  given?: Given
}

/** How long a call that outlasted its direct answer is retained at the least. */
export const OVERRUN_RETENTION_MS = 600_000
/** How long an idempotency key is kept at the least. */
const KEY_RETENTION_MS = 86_400_000

export function newInstance(env: Environment, admitted: Admitted, life: Partial<Instance>): Instance {
  const { id, call, operation, caller, owner, media } = admitted
  const { sessionId, parentId, idempotencyKey, locale, traceparent, lineage = [] } = call
  const now = env.clock.now()
  const expiresAt = now + retentionMs(operation)
  return {
    id,
    tenant: caller.tenant,
    owner,
    caller,
    requestId: call.requestId,
    operation: operation.key,
    model: operation.model,
    args: call.args,
    media,
    lineage,
    fingerprint: fingerprintOf(env, admitted),
    state: 'accepted',
    revision: 1,
    attempt: 0,
    settled: 0,
    failures: 0,
    rerunnable: operation.model === 'async' || !operation.sideEffecting,
    stopRequested: false,
    createdAt: now,
    expiresAt,
    keepUntil: idempotencyKey === undefined ? expiresAt : Math.max(expiresAt, now + KEY_RETENTION_MS),
    ...(sessionId !== undefined && { sessionId }),
    ...(parentId !== undefined && { parentId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(locale !== undefined && { locale }),
    ...(traceparent !== undefined && { traceparent }),
    ...life,
  }
}

export function retentionMs(operation: Operation): number {
  const ttlMs = operation.ttlSeconds * 1000
  return operation.model === 'sync' ? Math.max(ttlMs, OVERRUN_RETENTION_MS) : ttlMs
}

/** Over the operation as it was asked for: whoever named a version meant that one, and whoever did not means all of them. */
export function fingerprintOf(env: Environment, { call, caller, media }: Admitted): string {
  const attachments = media.map(({ name, mimeType, source }) => [
    name,
    mimeType,
    source.kind === 'ref' ? source.uri : source.sha256,
  ])
  const actor = caller.userId === undefined ? [] : [caller.userId]
  return env.digest(canonicalJson([call.operation, call.args, attachments, ...actor]))
}

export function jobFor({ id, operation, caller, call, media, given }: Admitted): Job {
  const { requestId, lineage = [] } = call
  return { id, operation, caller, requestId, media, lineage, ...correlation(call), ...(given && { given }) }
}

/** The optional fields that tie a call to others. */
export function correlation({ sessionId, parentId, locale, traceparent }: Correlated): Correlated {
  return {
    ...(sessionId !== undefined && { sessionId }),
    ...(parentId !== undefined && { parentId }),
    ...(locale !== undefined && { locale }),
    ...(traceparent !== undefined && { traceparent }),
  }
}

type Correlated = Pick<Call, 'sessionId' | 'parentId' | 'locale' | 'traceparent'>

/** How long the caller of a sync operation waits for a direct answer. */
export function waitLimit(operation: Operation, call: Call): number {
  return Math.min(call.waitMs ?? operation.maxSyncMs, operation.maxSyncMs)
}
