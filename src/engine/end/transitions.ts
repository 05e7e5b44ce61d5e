/**
 * The one file that advances an instance: it builds every change of a recorded call and gives it to the store. When to
 * write one, and what follows it, is decided elsewhere. Acceptance and claims are the store's own writes.
 */

import type { Instance, InstanceExtras, Outcome } from '../../core/instance.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Advanced, AuditEnding, Change, RecordChange, Store } from '../../core/ports/store.ts'
import { type State, statesBefore } from '../../core/state.ts'

type Advancing = Pick<Store, 'advance'>

/** Reads records and says what becomes of them. */
export type Together = () => Promise<readonly RecordChange[]>

/** After so many tries the end is written without its records: the end is what counts, and the records expire. */
const MOST_TRIES = 8

export interface EndingRest {
  endedAt: number
  /** The call did nothing that a repeat could do twice, so its idempotency key is free again. */
  releaseKey: boolean
  audit?: AuditEnding | undefined
  /** Until when it is kept for callers that were told of it before its end; as recorded where absent. */
  expiresAt?: number
  /** Until when callers can see it if none was told of it before its end. */
  untoldExpiresAt?: number | undefined
  records?: readonly RecordChange[] | undefined
}

/** The end of a call. */
export function endingChange(instance: Instance, outcome: Outcome, rest: EndingRest): Change {
  const to = outcome.kind === 'fault' ? 'error' : 'complete'
  const { endedAt, releaseKey, audit, expiresAt = instance.expiresAt, untoldExpiresAt, records } = rest
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
    // An idempotency key is kept for as long as it was.
    const keepUntil = instance.idempotencyKey === undefined ? untoldExpiresAt : instance.keepUntil
    change.untold = { expiresAt: untoldExpiresAt, keepUntil }
  }
  if (records) change.records = records
  return change
}

export type Later = Pick<Change, 'failures' | 'settled' | 'waiting' | 'extras' | 'dueAt'>

/** The end of an attempt that does not end the call: it is tried again, handed back, or waits. */
export function laterChange(instance: Instance, later: Later): Change {
  return { ...staying(instance), settled: instance.attempt, ...later }
}

/** The same change under a later lease of the same node, which took up attempts that it does not account for. */
export function underLease(change: Change, { attempt }: Instance): Change {
  const since = attempt - (change.attempt ?? attempt)
  return { ...change, attempt, ...(change.settled !== undefined && { settled: change.settled + since }) }
}

/** The same change for a call that is polled for, whether or not a caller was told of it. */
export function keptForPolling({ untold: _direct, ...change }: Change): Change {
  return change
}

/** Writes a change, with the records as they are at the moment of the write. */
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

/** Makes a call due that waits for its next try; nothing happens if a worker has taken it up or ended it. */
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

/** Lets a call begin that waited for an approval, which is used up by it, under the lease that is held. */
export function beginHeld(
  store: Advancing,
  held: Instance,
  leasedUntil: number,
  records: readonly RecordChange[],
  extras: InstanceExtras | undefined,
): Promise<Advanced> {
  return store.advance({ ...staying(held), dueAt: leasedUntil, records, ...(extras && { extras }) })
}

/** Leaves a held call until then, if its approval is still as it was `seen`: a later decision would not be noticed. */
export function leaveHeld(store: Advancing, held: Instance, waitUntil: number, seen: RecordChange): Promise<Advanced> {
  return store.advance({ ...staying(held), dueAt: waitUntil, settled: held.settled + 1, records: [seen] })
}

/** Stores what a backend needs to take the call up again, under the lease that is held. */
export function expectAnswer(
  store: Advancing,
  instance: Instance,
  leasedUntil: number,
  waiting: JsonValue,
  extras: InstanceExtras | undefined,
): Promise<Advanced> {
  return store.advance({ ...staying(instance), dueAt: leasedUntil, waiting, ...(extras && { extras }) })
}

/** Lets a call go on whose caller has answered, fenced by the attempt that asked. */
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
