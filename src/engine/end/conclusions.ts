/**
 * Writes down how attempts ended: for good, to be tried again, or to wait for an answer. What the storage does not take
 * is kept and written later; what was never written did not happen: its lease runs out and the call is run again, or
 * ends as unknown.
 */

import { type Fault, wholeDelay } from '../../core/fault.ts'
import { storedFingerprint } from '../../core/fingerprint.ts'
import type { Instance, InstanceExtras, Outcome } from '../../core/instance.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Deferred, Operation } from '../../core/operation.ts'
import type { Observer, Outbox } from '../../core/ports/observer.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Advanced, AuditEnding, Change, RecordChange, Store } from '../../core/ports/store.ts'
import type { Questions } from '../../core/questions.ts'
import { OVERRUN_RETENTION_MS } from '../admit/admitted.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { removingSecrets } from '../wait/call-secrets.ts'
import { auditEnding, auditInstance } from './audit.ts'
import { faultOutcome, leaseLost, outcomeName } from './end-faults.ts'
import { KeptWrites } from './kept-writes.ts'
import * as transitions from './transitions.ts'

export interface EndOptions {
  /** Whether a repeat could do twice what this call has done; if not, it gives its key back. */
  acted?: boolean
  /** Told directly, so the operation's own retention counts, not the longer one of a call that had to be polled for. */
  direct?: boolean
  /** The span of its last attempt. */
  traceparent?: string | undefined
  /** What belongs to the end, as it is now: written with it, and read again if it has changed by then. */
  together?: transitions.Together | undefined
}

export class Conclusions {
  readonly #env: Environment
  readonly #store: Store
  readonly #observer: Observer | undefined
  readonly #outbox: Outbox | undefined
  readonly #kept: KeptWrites

  constructor(
    env: Environment,
    store: Store,
    observer: Observer | undefined,
    outbox: Outbox | undefined,
    /** Counts a call as running while its end cannot be written; returns what ends that. */
    occupy: (instance: Instance) => () => void,
  ) {
    this.#env = env
    this.#store = store
    this.#observer = observer
    this.#outbox = outbox
    this.#kept = new KeptWrites({ env, occupy })
  }

  /** Whether the end of a claimed call is known here and only has yet to be written. */
  takesUp(instance: Instance): boolean {
    return this.#kept.takesUp(instance)
  }

  hurry(): void {
    this.#kept.hurry()
  }

  /** Waits no longer for a storage that takes nothing. */
  giveUp(): Promise<void> {
    return this.#kept.giveUp()
  }

  /** The instance with its fingerprint where observers are told of it: a handler can change the arguments it is given. */
  withFingerprint(instance: Instance): Instance {
    if (!this.#observer?.executed || instance.fingerprint !== undefined) return instance
    return { ...instance, fingerprint: storedFingerprint(this.#env.digest, instance) }
  }

  /** For good. False if somebody else has taken the call over, or it could not be stored. */
  end(instance: Instance, operation: Operation, outcome: Outcome, options: EndOptions = {}): Promise<boolean> {
    const { acted = true, direct = false, traceparent, together } = options
    const endedAt = this.#env.clock.now()
    const audit = auditEnding(instance, operation, outcome)
    const atOnce = direct && outcome.kind !== 'location'
    const change = transitions.endingChange(instance, outcome, {
      endedAt,
      releaseKey: !acted,
      audit,
      expiresAt: keptUntil(instance, endedAt),
      untoldExpiresAt: atOnce ? instance.createdAt + operation.ttlSeconds * 1000 : undefined,
      records: this.#recordsOf(instance, operation, audit, endedAt),
    })
    return this.#write(instance, change, together).then((after) => {
      if (after) this.#tell(instance, operation, { outcome, audit, endedAt }, traceparent)
      return after !== undefined
    })
  }

  /** Written with the end: announcements, which could be lost otherwise, and the removal of the call's secrets. */
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
    if (!instance.extras?.sealed) return posted
    return [...(posted ?? []), ...removingSecrets(instance)]
  }

  /** Ends a call as it was seen: if somebody has taken it up since, nothing happens. A call that never began gives its key back. */
  async endUnrun(
    seen: Instance,
    operation: Operation | undefined,
    why: Fault,
    together: transitions.Together | undefined,
  ): Promise<boolean> {
    const outcome = faultOutcome(why)
    const endedAt = this.#env.clock.now()
    const audit = operation && auditEnding(seen, operation, outcome)
    const records = this.#recordsOf(seen, operation, audit, endedAt)
    const releaseKey = seen.attempt === 0
    const change = transitions.endingChange(seen, outcome, { endedAt, releaseKey, audit, records })
    const { applied } = await transitions.writeChange(this.#store, change, together)
    if (applied && operation && audit) this.#tell(seen, operation, { outcome, audit, endedAt })
    return applied
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

  /** Ends a try without ending the call; what it waited for is waited for no more. False as with `end`. */
  async retryLater(instance: Instance, failures: number, dueAt: number, attempt: Attempt): Promise<boolean> {
    const { tryEndsAt: _over, ...extras } = extrasNow(instance, attempt) ?? {}
    const waits = instance.waiting !== undefined && { waiting: null, extras }
    return (await this.#reschedule(instance, { failures, dueAt, ...waits })) !== undefined
  }

  /** Of a try that waits for its time, if nobody has taken it up or ended it. */
  async makeDue(id: string, attempt: number, dueAt: number): Promise<void> {
    await transitions.makeDue(this.#store, { id, attempt }, dueAt)
  }

  /** Ready for whoever comes next, without counting as a failure. */
  async giveBack(instance: Instance, dueAt = this.#env.clock.now()): Promise<void> {
    await this.#reschedule(instance, { dueAt })
  }

  /** Accounts for this attempt only: if an earlier one was cut off, whoever comes next must still see that. */
  async giveBackUnbegun(instance: Instance, dueAt = this.#env.clock.now()): Promise<void> {
    await this.#reschedule(instance, { dueAt, settled: instance.settled + 1 })
  }

  /** Leaves the call waiting. An answer that came while the attempt was under way is taken at once. */
  async leaveWaiting(instance: Instance, { waiting, resumeInMs }: Deferred, attempt: Attempt): Promise<void> {
    const now = this.#env.clock.now()
    const extras = extrasUntil(instance, attempt)
    const endsAt = extras?.tryEndsAt ?? Number.POSITIVE_INFINITY
    const dueAt = Math.ceil(Math.min(now + (wholeDelay(resumeInMs) ?? 0), endsAt))
    const after = await this.#reschedule(instance, { dueAt, waiting, ...(extras && { extras }) })
    if (after?.answer !== undefined) await this.giveBack(after)
  }

  /** Leaves the call until its caller has answered; its deadline, where it has one, goes on. */
  async leaveAsking(instance: Instance, questions: Questions, attempt: Attempt): Promise<void> {
    const extras = extrasNow(instance, attempt)
    const { deadlineAt } = extras ?? {}
    const asking = { kinds: [], answers: {}, ...extras?.asking, questions }
    const after = await this.#reschedule(instance, {
      extras: { ...extras, asking },
      ...(deadlineAt !== undefined && { dueAt: deadlineAt }),
    })
    // Somebody wanted it to stop meanwhile: whoever takes it up next sees to that.
    if (after?.stopRequested) await this.giveBack(after)
  }

  /** Commits what taking the call up again needs, under the lease that is held. */
  async expectAnswer(instance: Instance, waiting: JsonValue, attempt: Attempt, leaseMs: number): Promise<Instance> {
    const extras = extrasUntil(instance, attempt)
    const leasedUntil = this.#env.clock.now() + leaseMs
    const advancing = transitions.expectAnswer(this.#store, instance, leasedUntil, waiting, extras)
    const { applied, instance: after } = await advancing
    if (!applied || !after) throw leaseLost()
    return after
  }

  /**
   * Lets a call begin that waited for an approval, which is used up by it, under the lease that is held. It did not
   * begin, and what was seen of the approval is to be looked at again, where `recordsDiffer`.
   */
  beginHeld(
    held: Instance,
    records: readonly RecordChange[],
    extras: InstanceExtras | undefined,
    leaseMs: number,
  ): Promise<Advanced> {
    return transitions.beginHeld(this.#store, held, this.#env.clock.now() + leaseMs, records, extras)
  }

  /** Leaves it until then, if its approval is still as it was `seen`. */
  leaveHeld(held: Instance, waitUntil: number, seen: RecordChange): Promise<Advanced> {
    return transitions.leaveHeld(this.#store, held, waitUntil, seen)
  }

  #reschedule(instance: Instance, later: transitions.Later): Promise<Instance | undefined> {
    return this.#write(instance, transitions.laterChange(instance, later))
  }

  async #write(instance: Instance, change: Change, together?: transitions.Together): Promise<Instance | undefined> {
    const { log } = this.#env
    try {
      const { applied, instance: after } = await transitions.writeChange(this.#store, change, together)
      if (applied) return after
      log.warn(fieldsOf(instance), LEASE_LOST)
    } catch (thrown) {
      if (this.#kept.isKept(thrown)) return this.#writeLater(instance, change, together, thrown)
      log.error({ ...fieldsOf(instance), err: thrown }, 'the end of an attempt could not be stored')
    }
    return undefined
  }

  async #writeLater(
    instance: Instance,
    change: Change,
    together: transitions.Together | undefined,
    err: unknown,
  ): Promise<Instance | undefined> {
    const { log } = this.#env
    log.error({ ...fieldsOf(instance), err }, 'the end of an attempt could not be stored; it is kept and written later')
    // Nobody can wait for it directly any more, so it is kept as long as a call that is polled for.
    const polled = transitions.keptForPolling(change)
    const write = (latest: Change) => transitions.writeChange(this.#store, latest, together)
    const advanced = await this.#kept.keep(instance, polled, write)
    if (advanced?.applied || isThatEnd(advanced?.instance, change)) return advanced?.instance
    if (advanced) log.warn(fieldsOf(instance), LEASE_LOST)
    return undefined
  }
}

/** An async call is kept as its operation says; a sync one that had to be polled for, so long after its end. */
function keptUntil({ model, expiresAt }: Instance, endedAt: number): number {
  return model === 'sync' ? Math.max(expiresAt, endedAt + OVERRUN_RETENTION_MS) : expiresAt
}

const LEASE_LOST = 'the lease was lost before the attempt ended; what it did is not recorded'

/** A write that failed may have been made all the same. */
function isThatEnd(now: Instance | undefined, { attempt, endedAt }: Change): boolean {
  return endedAt !== undefined && now?.endedAt === endedAt && now.attempt === attempt
}

function fieldsOf({ operation, requestId, attempt }: Instance): object {
  return { operation, requestId, attempt }
}

/** The try's time goes on while nobody runs it: by the wall clock as it is now, if that was set meanwhile. */
function extrasUntil(instance: Instance, attempt: Attempt): InstanceExtras | undefined {
  const { endsAt, wallSetMs } = attempt
  return endsAt === undefined ? undefined : { ...extrasNow(instance, attempt), tryEndsAt: endsAt + wallSetMs }
}

/** The instance may have been read before or after the clock was set; the attempt knows its deadline in any case. */
function extrasNow({ extras }: Instance, { deadlineAt }: Attempt): InstanceExtras | undefined {
  return deadlineAt === undefined ? extras : { ...extras, deadlineAt }
}
