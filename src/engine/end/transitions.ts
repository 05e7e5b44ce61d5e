/**
 * The only file that advances an instance: it builds every change of a recorded call and passes it to the store. Other
 * files decide when to write a change. Acceptance, claims, and the return of a call that waited for a slot are the store's
 * own writes.
 */

import type { Instance, InstanceExtras, Outcome } from '../../core/call/instance.ts'
import { type State, statesBefore } from '../../core/call/state.ts'
import { settledUnbegun } from '../../core/call/unbegun.ts'
import type { JsonValue } from '../../core/json.ts'
import type { PastAttempt } from '../../core/ports/call-list.ts'
import type { Advanced, AuditEnding, Change, RecordChange, Store } from '../../core/ports/store.ts'

type Advancing = Pick<Store, 'advance'>

/** Reads records and returns their changes. */
export type Together = () => Promise<readonly RecordChange[]>

/** After this many tries the end is written without its records. The end matters more, and the records expire. */
const MOST_TRIES = 8

export interface EndingRest {
  endedAt: number
  /** The call had no effect that a repeat could duplicate, so its idempotency key is free again. */
  releaseKey: boolean
  audit?: AuditEnding | undefined
  /** Until when it is kept for callers that learned of it before its end. Default: as recorded. */
  expiresAt?: number
  /** Until when callers can see it if none learned of it before its end. */
  untoldExpiresAt?: number | undefined
  records?: readonly RecordChange[] | undefined
  /** Until when the row must be kept for a reply that is still to be sent, or for operators. */
  keepUntil?: number | undefined
  /** The attempt ends before its handler was started. */
  unbegun?: boolean
}

/** The change that ends a call. */
export function endingChange(instance: Instance, outcome: Outcome, rest: EndingRest): Change {
  const to = outcome.kind === 'fault' ? 'error' : 'complete'
  const { endedAt, releaseKey, audit, expiresAt = instance.expiresAt, untoldExpiresAt, records, keepUntil } = rest
  const change: Change = {
    id: instance.id,
    from: statesBefore(to),
    to,
    attempt: instance.attempt,
    outcome,
    releaseKey,
    endedAt,
  }
  if (audit) change.audit = audit
  if (expiresAt !== instance.expiresAt || untoldExpiresAt !== undefined) {
    change.expiresAt = expiresAt
    change.keepUntil = Math.max(expiresAt, instance.keepUntil)
  }
  if (untoldExpiresAt !== undefined) {
    // The retention of an idempotency key does not change.
    const usual = instance.idempotencyKey === undefined ? untoldExpiresAt : instance.keepUntil
    change.untold = { expiresAt: untoldExpiresAt, keepUntil: Math.max(usual, keepUntil ?? 0) }
  }
  if (keepUntil !== undefined && keepUntil > (change.keepUntil ?? instance.keepUntil)) change.keepUntil = keepUntil
  if (records) change.records = records
  if (rest.unbegun) Object.assign(change, settledUnbegun(instance))
  return change
}

export type Later = Pick<Change, 'failures' | 'settled' | 'waiting' | 'extras' | 'dueAt' | 'past'>

/** The end of an attempt that does not end the call: it is tried again, handed back, or waits. */
export function laterChange(instance: Instance, later: Later): Change {
  const { attempt, extras } = instance
  // Claims that started no handler may not be stored yet.
  return { ...staying(instance), settled: attempt, ...(extras?.unbegun !== undefined && { extras }), ...later }
}

/** This lease ends before the handler was started. */
export function unbegun(instance: Instance, dueAt: number): Later {
  return { dueAt, ...settledUnbegun(instance) }
}

/** The same change under a later lease of the same node. The attempts claimed since are settled, and started nothing. */
export function underLease(change: Change, claimed: Instance): Change {
  const { attempt } = claimed
  const since = attempt - (change.attempt ?? attempt)
  if (change.settled === undefined || since === 0) return { ...change, attempt }
  const extras = change.extras ?? claimed.extras
  const unbegun = (extras?.unbegun ?? 0) + since
  return { ...change, attempt, settled: change.settled + since, extras: { ...extras, unbegun } }
}

/** The same change with the retention of a polled call, even if no caller has learned of the call. */
export function keptForPolling({ untold: _direct, ...change }: Change): Change {
  return change
}

/** Writes a change, with the records as they are at that moment. */
export function writeChange(store: Advancing, change: Change, together?: Together): Promise<Advanced> {
  return together ? advanceWith(store, change, together) : store.advance(change)
}

async function advanceWith(store: Advancing, change: Change, together: Together): Promise<Advanced> {
  const { records = [] } = change
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const after = await store.advance({ ...change, records: [...records, ...(await together())] })
    if (!after.recordsDiffer) return after
  }
  return store.advance(change)
}

/** Makes a call due that waits for its next try. Nothing happens if a worker has claimed it or it has ended. */
export function makeDue(store: Advancing, lease: Pick<Instance, 'id' | 'attempt'>, dueAt: number): Promise<Advanced> {
  return store.advance({ ...staying(lease), dueAt })
}

/** Makes a call due whose approval was decided, and writes the decision with it. */
export function wakeHeld(
  store: Advancing,
  held: Instance,
  dueAt: number,
  records: readonly RecordChange[],
): Promise<Advanced> {
  return store.advance({ ...staying(held, held.state), dueAt, records })
}

/** Starts a call that waited for an approval, and uses the approval, under the current lease. */
export function beginHeld(
  store: Advancing,
  held: Instance,
  leasedUntil: number,
  records: readonly RecordChange[],
  extras: InstanceExtras | undefined,
  past: PastAttempt,
): Promise<Advanced> {
  return store.advance({ ...staying(held), dueAt: leasedUntil, records, past, ...(extras && { extras }) })
}

/**
 * Leaves a held call until `waitUntil`, if its approval has not changed since it was `seen`. Otherwise a decision would
 * be missed.
 */
export function leaveHeld(store: Advancing, held: Instance, waitUntil: number, seen: RecordChange): Promise<Advanced> {
  return store.advance({ ...staying(held), ...unbegun(held, waitUntil), records: [seen] })
}

/** Stores what a backend needs to resume the call, under the current lease. */
export function expectAnswer(
  store: Advancing,
  instance: Instance,
  leasedUntil: number,
  waiting: JsonValue,
  extras: InstanceExtras | undefined,
): Promise<Advanced> {
  return store.advance({ ...staying(instance), dueAt: leasedUntil, waiting, ...(extras && { extras }) })
}

/** The change that leaves a stream until its ticket is over. */
export function leaveAwaited(awaited: Instance, dueAt: number): Change {
  return { ...staying(awaited, 'streaming'), dueAt }
}

/** A reader has connected to a stream that waited for one. This node now holds its lease. */
export function beginStream(
  store: Advancing,
  awaited: Instance,
  leasedUntil: number,
  extras: InstanceExtras,
  records: readonly RecordChange[],
): Promise<Advanced> {
  return store.advance({ ...staying(awaited, 'streaming'), dueAt: leasedUntil, extras, records })
}

/** Makes a call due whose caller has answered. It applies only to the attempt that asked. */
export function goOnAnswered(
  store: Advancing,
  asking: Instance,
  dueAt: number,
  extras: InstanceExtras,
): Promise<Advanced> {
  return store.advance({ ...staying(asking), extras, dueAt })
}

function staying(
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
  state: State = 'pending',
): Pick<Change, 'id' | 'from' | 'to' | 'attempt'> {
  return { id, from: statesBefore(state), to: state, attempt }
}
