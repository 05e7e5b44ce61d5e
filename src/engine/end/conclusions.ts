/**
 * Writes the ends of attempts: the call ends, is tried again, or waits. A write that the storage cannot accept now is
 * kept in memory and written later. If it is never written, the lease expires, and the call runs again or ends as
 * unknown.
 */

import { isDead } from '../../core/call/dead-letter.ts'
import { storedFingerprint } from '../../core/call/fingerprint.ts'
import { type Instance, type InstanceExtras, type Outcome, startsOf } from '../../core/call/instance.ts'
import type { Questions } from '../../core/call/questions.ts'
import { settledUnbegun } from '../../core/call/unbegun.ts'
import { type Fault, type FaultRecord, wholeDelay } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Deferred } from '../../core/operation/returned.ts'
import type { Observer, Outbox } from '../../core/ports/observer.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Advanced, AuditEnding, Change, RecordChange, Store } from '../../core/ports/store.ts'
import { OVERRUN_RETENTION_MS } from '../admit/admitted.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { keptForLate, noteAtEnd } from '../owed/notes.ts'
import { readerDueAt } from '../stream/stream-ends.ts'
import { releasingNames } from '../stream/stream-names.ts'
import { removingStream } from '../stream/stream-sessions.ts'
import { removingSecrets } from '../wait/call-secrets.ts'
import { auditEnding, auditInstance } from './audit.ts'
import { leaseLost, outcomeName } from './end-faults.ts'
import { KeptWrites } from './kept-writes.ts'
import { failedAttempt, handedOver, heldUntil } from './past-attempts.ts'
import * as transitions from './transitions.ts'

export interface EndOptions {
  /** True if a repeat could duplicate an effect of this call. If false, the idempotency key is released. */
  acted?: boolean
  /**
   * The caller gets the outcome directly. The operation's own retention applies, not the longer one of a polled call.
   */
  direct?: boolean
  /** The handler of the last attempt was not started. */
  unbegun?: boolean
  /** The span of the last attempt. */
  traceparent?: string | undefined
  /** Returns further records to write with the end. It is called again if a record has changed by then. */
  together?: transitions.Together | undefined
}

export class Conclusions {
  readonly #env: Environment
  readonly #store: Store
  readonly #observer: Observer | undefined
  readonly #outbox: Outbox | undefined
  readonly #kept: KeptWrites
  readonly #deadLetterMs: number

  constructor(
    env: Environment,
    store: Store,
    observer: Observer | undefined,
    outbox: Outbox | undefined,
    /** Counts a call as running while its end cannot be written. The returned function ends that. */
    occupy: (instance: Instance) => () => void,
    /** How long a dead letter is kept at least. */
    deadLetterMs = 0,
  ) {
    this.#deadLetterMs = deadLetterMs
    this.#env = env
    this.#store = store
    this.#observer = observer
    this.#outbox = outbox
    this.#kept = new KeptWrites({ env, occupy })
  }

  /** True if this node knows the end of a claimed call and only has to write it. */
  takesUp(instance: Instance): boolean {
    return this.#kept.takesUp(instance)
  }

  hurry(): void {
    this.#kept.hurry()
  }

  /** Stops waiting for the storage. */
  giveUp(): Promise<void> {
    return this.#kept.giveUp()
  }

  /** Adds the fingerprint if there is an observer, because a handler can change its arguments. */
  withFingerprint(instance: Instance): Instance {
    if (!this.#observer?.executed || instance.fingerprint !== undefined) return instance
    return { ...instance, fingerprint: storedFingerprint(this.#env.digest, instance) }
  }

  /** Ends the call. False if another worker has taken over the call, or if the end could not be stored. */
  end(instance: Instance, operation: Operation, outcome: Outcome, options: EndOptions = {}): Promise<boolean> {
    const { acted = true, direct = false, unbegun = false, traceparent, together } = options
    const endedAt = this.#env.clock.now()
    const audit = auditEnding(unbegun ? { ...instance, ...settledUnbegun(instance) } : instance, operation, outcome)
    const atOnce = direct && outcome.kind !== 'location'
    const change = transitions.endingChange(instance, outcome, {
      endedAt,
      releaseKey: !acted,
      audit,
      expiresAt: keptUntil(instance, endedAt),
      untoldExpiresAt: atOnce ? instance.createdAt + operation.ttlSeconds * 1000 : undefined,
      records: this.#recordsOf(instance, operation, audit, endedAt),
      keepUntil: this.#keptUntil(instance, outcome, endedAt),
      unbegun,
    })
    return this.#write(instance, change, together).then((after) => {
      if (after) this.#tell(instance, operation, { outcome, audit, endedAt }, traceparent)
      return after !== undefined
    })
  }

  /**
   * The records to write with the end: announcements and the reply that is owed, which could be lost otherwise, and the
   * removal of the call's secrets.
   */
  #recordsOf(
    instance: Instance,
    operation: Operation | undefined,
    audit: AuditEnding | undefined,
    endedAt: number,
  ): readonly RecordChange[] | undefined {
    const posted =
      operation &&
      audit &&
      this.#outbox?.ended(operation, () => auditInstance(this.#env.digest, instance, audit, endedAt))
    const { sealed, stream } = instance.extras ?? {}
    const owed = noteAtEnd(this.#env.digest, instance, endedAt)
    if (!sealed && !stream && !owed) return posted
    const removed = [...removingSecrets(instance), ...removingStream(this.#env, instance), ...releasingNames(instance)]
    return [...(posted ?? []), ...removed, ...(owed ? [owed] : [])]
  }

  /**
   * Ends a call that no worker runs. Nothing happens if a worker has claimed it since. A call that never started
   * releases its key.
   */
  async endUnrun(
    seen: Instance,
    operation: Operation | undefined,
    outcome: Outcome,
    together: transitions.Together | undefined,
  ): Promise<boolean> {
    const endedAt = this.#env.clock.now()
    const audit = operation && auditEnding(seen, operation, outcome)
    const records = this.#recordsOf(seen, operation, audit, endedAt)
    const releaseKey = startsOf(seen) === 0
    const keepUntil = this.#keptUntil(seen, outcome, endedAt)
    const change = transitions.endingChange(seen, outcome, { endedAt, releaseKey, audit, records, keepUntil })
    const { applied } = await transitions.writeChange(this.#store, change, together)
    if (applied && operation && audit) this.#tell(seen, operation, { outcome, audit, endedAt })
    return applied
  }

  /** A reply that is owed and a dead letter keep the row of a call longer than its callers can see it. */
  #keptUntil(instance: Instance, outcome: Outcome, endedAt: number): number | undefined {
    const forReply = keptForReply(instance, endedAt)
    if (outcome.kind !== 'fault' || !isDead(outcome.fault.kind)) return forReply
    return Math.max(forReply ?? 0, endedAt + this.#deadLetterMs)
  }

  #tell(
    instance: Instance,
    operation: Operation,
    { outcome, audit, endedAt }: { outcome: Outcome; audit: AuditEnding; endedAt: number },
    traceparent = instance.traceparent,
  ): void {
    this.#observer?.callEnded?.(operation, outcomeName(outcome), endedAt - instance.createdAt)
    this.#observer?.executed?.(operation, {
      entry: auditInstance(this.#env.digest, instance, audit, endedAt),
      outcome,
      ...(traceparent !== undefined && { traceparent }),
    })
  }

  /** Ends a try without ending the call. A wait for a callback ends with it. False as with `end`. */
  async retryLater(instance: Instance, fault: FaultRecord, dueAt: number, attempt: Attempt): Promise<boolean> {
    const { tryEndsAt: _over, ...extras } = extrasNow(instance, attempt) ?? {}
    const waits = instance.waiting !== undefined && { waiting: null, extras }
    const past = failedAttempt(instance, fault, this.#env.clock.now(), dueAt)
    return (await this.#reschedule(instance, { failures: instance.failures + 1, dueAt, past, ...waits })) !== undefined
  }

  /** Makes a call due that waits for its next try, unless a worker has claimed it or it has ended. */
  async makeDue(id: string, attempt: number, dueAt: number): Promise<void> {
    await transitions.makeDue(this.#store, { id, attempt }, dueAt)
  }

  /** Makes the call due for any node, without counting a failure. */
  async giveBack(instance: Instance): Promise<void> {
    await this.#reschedule(instance, { dueAt: this.#env.clock.now() })
  }

  /** The same, because this node stops while the attempt runs. */
  async handOver(instance: Instance): Promise<void> {
    const dueAt = this.#env.clock.now()
    await this.#reschedule(instance, { dueAt, past: handedOver(instance, dueAt) })
  }

  /** The same at a later time, after a failure of the server's own storage. */
  async giveBackLater(instance: Instance, fault: Fault, dueAt: number): Promise<void> {
    await this.#reschedule(instance, { dueAt, past: failedAttempt(instance, fault, this.#env.clock.now(), dueAt) })
  }

  /**
   * Settles this attempt only. If an earlier attempt was interrupted, the next worker must still see that. `undefined` if
   * another worker has taken over the call, or if it could not be stored.
   */
  giveBackUnbegun(instance: Instance, dueAt = this.#env.clock.now()): Promise<Instance | undefined> {
    return this.#reschedule(instance, transitions.unbegun(instance, dueAt))
  }

  /** Leaves the call waiting. If a callback came while the attempt ran, the call becomes due at once. */
  async leaveWaiting(instance: Instance, { waiting, resumeInMs }: Deferred, attempt: Attempt): Promise<void> {
    const now = this.#env.clock.now()
    const extras = extrasUntil(instance, attempt)
    const endsAt = extras?.tryEndsAt ?? Number.POSITIVE_INFINITY
    const dueAt = Math.ceil(Math.min(now + (wholeDelay(resumeInMs) ?? 0), endsAt))
    const after = await this.#reschedule(instance, { dueAt, waiting, ...(extras && { extras }) })
    if (after?.answer !== undefined) await this.giveBack(after)
  }

  /** Leaves the call until its caller has answered. The deadline, if there is one, still applies. */
  async leaveAsking(instance: Instance, questions: Questions, attempt: Attempt): Promise<void> {
    const extras = extrasNow(instance, attempt)
    const { deadlineAt } = extras ?? {}
    const asking = { kinds: [], answers: {}, ...extras?.asking, questions }
    const after = await this.#reschedule(instance, {
      extras: { ...extras, asking },
      ...(deadlineAt !== undefined && { dueAt: deadlineAt }),
    })
    // The call was canceled meanwhile. The next worker that claims it ends it.
    if (after?.stopRequested) await this.giveBack(after)
  }

  /** Stores what the backend needs to resume the call, under the current lease. */
  async expectAnswer(instance: Instance, waiting: JsonValue, attempt: Attempt, leaseMs: number): Promise<Instance> {
    const extras = extrasUntil(instance, attempt)
    const leasedUntil = this.#env.clock.now() + leaseMs
    const advancing = transitions.expectAnswer(this.#store, instance, leasedUntil, waiting, extras)
    const { applied, instance: after } = await advancing
    if (!applied || !after) throw leaseLost()
    return after
  }

  /**
   * Starts a call that waited for an approval and uses the approval, under the current lease. If `recordsDiffer`, the
   * call has not started, and the approval must be read again.
   */
  beginHeld(
    held: Instance,
    records: readonly RecordChange[],
    extras: InstanceExtras | undefined,
    leaseMs: number,
  ): Promise<Advanced> {
    const now = this.#env.clock.now()
    return transitions.beginHeld(this.#store, held, now + leaseMs, records, extras, heldUntil(held, now))
  }

  /** Leaves a stream that waits for its first reader. */
  async leaveAwaited(awaited: Instance): Promise<void> {
    await this.#write(awaited, transitions.leaveAwaited(awaited, readerDueAt(awaited)))
  }

  /** Leaves a held call until `waitUntil`, if its approval has not changed since it was `seen`. */
  leaveHeld(held: Instance, waitUntil: number, seen: RecordChange): Promise<Advanced> {
    return transitions.leaveHeld(this.#store, held, waitUntil, seen)
  }

  #reschedule(instance: Instance, later: transitions.Later): Promise<Instance | undefined> {
    return this.#write(instance, transitions.laterChange(instance, later))
  }

  /** Not an async function, because every durable call runs through it. */
  #write(instance: Instance, change: Change, together?: transitions.Together): Promise<Instance | undefined> {
    return transitions.writeChange(this.#store, change, together).then(
      ({ applied, instance: after }) => {
        if (applied) return after
        this.#env.log.warn(fieldsOf(instance), LEASE_LOST)
        return undefined
      },
      (thrown) => this.#unwritten(instance, change, together, thrown),
    )
  }

  async #unwritten(
    instance: Instance,
    change: Change,
    together: transitions.Together | undefined,
    thrown: unknown,
  ): Promise<Instance | undefined> {
    if (this.#kept.isKept(thrown)) return this.#writeLater(instance, change, together, thrown)
    this.#env.log.error({ ...fieldsOf(instance), err: thrown }, 'could not store the end of an attempt')
    return undefined
  }

  async #writeLater(
    instance: Instance,
    change: Change,
    together: transitions.Together | undefined,
    err: unknown,
  ): Promise<Instance | undefined> {
    const { log } = this.#env
    log.error(
      { ...fieldsOf(instance), err },
      'could not store the end of an attempt; it is kept in memory and written later',
    )
    // The caller no longer waits for the outcome, so it is retained as long as that of a polled call.
    const polled = transitions.keptForPolling(change)
    const write = (latest: Change) => transitions.writeChange(this.#store, latest, together)
    const advanced = await this.#kept.keep(instance, polled, write)
    if (advanced?.applied || isThatEnd(advanced?.instance, change)) return advanced?.instance
    if (advanced) log.warn(fieldsOf(instance), LEASE_LOST)
    return undefined
  }
}

/**
 * An async call is retained as its operation says. A polled sync call is retained for `OVERRUN_RETENTION_MS` after its
 * end.
 */
function keptUntil({ model, expiresAt }: Instance, endedAt: number): number {
  return model === 'sync' ? Math.max(expiresAt, endedAt + OVERRUN_RETENTION_MS) : expiresAt
}

/** A reply that is sent later is made from the stored call. */
function keptForReply({ extras, expiresAt }: Instance, endedAt: number): number | undefined {
  return extras?.replyTo && keptForLate(expiresAt, endedAt)
}

const LEASE_LOST = 'lost the lease before the attempt ended; its outcome is not recorded'

/** A write that reported a failure may have succeeded. */
function isThatEnd(now: Instance | undefined, { attempt, endedAt }: Change): boolean {
  return endedAt !== undefined && now?.endedAt === endedAt && now.attempt === attempt
}

function fieldsOf({ operation, requestId, attempt }: Instance): object {
  return { operation, requestId, attempt }
}

/**
 * The time of the try goes on while the call waits. It is stored on the current wall clock, which may have been set
 * meanwhile.
 */
function extrasUntil(instance: Instance, attempt: Attempt): InstanceExtras | undefined {
  const { endsAt, wallSetMs } = attempt
  return endsAt === undefined ? undefined : { ...extrasNow(instance, attempt), tryEndsAt: endsAt + wallSetMs }
}

/** The instance may have been read before or after the clock was set, so the attempt's deadline is used. */
function extrasNow({ extras }: Instance, { deadlineAt }: Attempt): InstanceExtras | undefined {
  return deadlineAt === undefined ? extras : { ...extras, deadlineAt }
}
