/**
 * One run of one operation: starts the handler, limits its time, stops it, and keeps the first ending. The end of the
 * attempt and the return of the handler are two events: an attempt that is stopped ends at once, and its handler may
 * return later. Other files handle retries and records.
 */

import type { Outcome, Progress } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { EffectiveTerms } from '../../core/operation/rules.ts'
import type { AttemptObservation } from '../../core/ports/observer.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import type { AttemptRun } from './attempt-run.ts'
import { effectiveTerms } from './call-terms.ts'
import { cleanBytes, cleanOutcome } from './cleaning.ts'
import { bounded, type Ending, isWaiting, timedOut } from './ending.ts'
import { runHandler } from './handler-run.ts'
import type { AttemptParts, Job } from './job.ts'
import { LateHandler } from './late-handler.ts'

const FIRST_TRY: AttemptRun = { failures: 0 }

export class Attempt {
  readonly job: Job
  readonly number: number
  readonly run: AttemptRun
  readonly #parts: AttemptParts
  #ending: Ending | undefined
  #done: PromiseWithResolvers<Ending> | undefined
  #tell: ((ending: Ending) => void) | undefined
  /** When the operation's own limit for this attempt is over. Computed on first use. */
  #ownEndsAt: number | undefined
  /** Since when the backend has been waiting in a queue. The attempt's limit is paused meanwhile. */
  #queuedAt: number | undefined
  /** The difference between the wall clock and the monotonic clock when this attempt first read them. */
  #wallAheadMs: number | undefined
  #controller: AbortController | undefined
  #stoppedBy: Fault | undefined
  /** The handler was called and has not returned. */
  #working = false
  #late: LateHandler | undefined
  #onReturn: (() => void)[] | undefined
  #observation: AttemptObservation | undefined
  /** Release functions of the secrets that the handler has received. They are called when it has returned. */
  #release: (() => void)[] | undefined
  #cancelLimit: (() => void) | undefined
  #cancelGrace: (() => void) | undefined
  onProgress: ((progress: Progress) => void) | undefined
  /** True if the handler was called. */
  began = false
  /** True if the handler has called other operations. */
  calledOthers = false
  /** True if one of these calls was accepted. */
  othersBegan = false
  /** True if this attempt, or an earlier try, has written bytes to the object store. */
  storedObjects = false
  /** The failure of the server's own storage, if that ended the attempt. */
  storageFault: Fault | undefined

  constructor(job: Job, number: number, parts: AttemptParts, run: AttemptRun = FIRST_TRY) {
    this.job = job
    this.number = number
    this.#parts = parts
    this.run = run
  }

  /** Never rejects. Created on first use, because most calls end before anything waits for them. */
  get done(): Promise<Ending> {
    if (!this.#done) {
      this.#done = Promise.withResolvers()
      if (this.#ending) this.#done.resolve(this.#ending)
    }
    return this.#done.promise
  }

  /** Calls `tell` when the attempt ends, or at once if it has ended. It saves a promise. */
  whenEnded(tell: (ending: Ending) => void): void {
    if (this.#ending) tell(this.#ending)
    else this.#tell = tell
  }

  /** True if the outcome is decided. The handler may still run. */
  get ended(): boolean {
    return this.#ending !== undefined
  }

  /** True if the handler has returned or was never started. */
  get returned(): boolean {
    return !this.#working
  }

  /**
   * Calls `tell` when the handler returns, which may be long after the end. Calls it at once if the handler has
   * returned.
   */
  whenReturned(tell: () => void): void {
    if (!this.#working) tell()
    else if (this.#onReturn) this.#onReturn.push(tell)
    else this.#onReturn = [tell]
  }

  get terms(): EffectiveTerms {
    return effectiveTerms(this.job.operation, this.job.terms)
  }

  /**
   * Wall time that advances with the monotonic clock from the first call, so that setting the clock does not move any
   * limit.
   */
  now(): number {
    const { clock } = this.#parts.env
    // The attempt ended synchronously, so there is no interval to measure, and reading one clock is enough.
    if (this.#ending && this.#wallAheadMs === undefined) return clock.now()
    const passedMs = clock.monotonicMs()
    this.#wallAheadMs ??= clock.now() - passedMs
    return this.#wallAheadMs + passedMs
  }

  /** Continues the clock of an earlier try of the same call. */
  follow(before: Attempt): void {
    before.now()
    this.#wallAheadMs = before.#wallAheadMs
  }

  /**
   * When the attempt's time is over, if it has a limit. While the backend waits in a queue, only the call's deadline
   * applies.
   */
  get endsAt(): number | undefined {
    const { endsAt: callEndsAt = Number.POSITIVE_INFINITY } = this.run
    const endsAt = this.#queuedAt === undefined ? Math.min(this.#ownLimit(), callEndsAt) : callEndsAt
    return Number.isFinite(endsAt) ? endsAt : undefined
  }

  #ownLimit(): number {
    if (this.#ownEndsAt === undefined) {
      const { timeoutMs } = this.terms
      this.#ownEndsAt = timeoutMs === undefined ? Number.POSITIVE_INFINITY : this.now() + timeoutMs
    }
    return this.#ownEndsAt
  }

  /** Waits for the backend's turn in its own queue. This time does not count against the limit of the attempt. */
  async queued<T>(turn: Promise<T>): Promise<T> {
    if (this.#queuedAt !== undefined) return turn
    const limit = this.#ownLimit()
    this.#queuedAt = this.now()
    this.#limit()
    try {
      return await turn
    } finally {
      this.#ownEndsAt = limit + this.now() - this.#queuedAt
      this.#queuedAt = undefined
      this.#limit()
    }
  }

  /** By how much the wall clock was set forward since this attempt first read it. Negative if it was set back. */
  get wallSetMs(): number {
    return this.#parts.env.clock.now() - this.now()
  }

  /** When the time of all tries is over, on the current wall clock. */
  get deadlineAt(): number | undefined {
    const { deadlineAt } = this.run
    return deadlineAt === undefined ? undefined : deadlineAt + this.wallSetMs
  }

  /** The attempt's own span if there is one, so that it is the parent of the handler's calls. */
  get traceparent(): string | undefined {
    return this.#observation?.traceparent ?? this.job.traceparent
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#stoppedBy) this.#controller.abort(this.#stoppedBy)
    }
    return this.#controller.signal
  }

  /** The reason why the attempt was stopped, if it was. */
  get stoppedBy(): Fault | undefined {
    return this.#stoppedBy
  }

  /** True if the handler threw this after the attempt had ended. It is then only logged. */
  threwLate(thrown: unknown): boolean {
    this.#late?.threw(thrown)
    return this.#late !== undefined
  }

  /** After the end a handler may clean up, but it cannot start anything more for the call. */
  throwIfStopped(): void {
    if (this.#ending && this.#stoppedBy) throw this.#stoppedBy
  }

  /**
   * `args` is the schema's output. The handler's result is validated before a caller sees it. Returns the ending if the
   * handler is synchronous: such a handler needs neither a timer nor a turn of the event loop.
   */
  start(args: unknown): Ending | undefined {
    if (this.#ending) return this.#ending
    const { operation } = this.job
    const startedAt = this.run.endsAt === undefined ? undefined : this.now()
    this.#observation = this.#parts.observer?.attemptStarted?.(operation, this)
    if (startedAt !== undefined && (this.run.endsAt as number) <= startedAt && this.run.answer === undefined) {
      this.refuse(timedOut(this.terms.timeoutMs))
      return this.#ending
    }
    this.#working = true
    const ran = this.#observation
      ? this.#observation.within(() => runHandler(this, this.#parts, args))
      : runHandler(this, this.#parts, args)
    if (!(ran instanceof Promise)) {
      this.#return(ran)
      return this.#ending
    }
    void ran.then((ending) => this.#return(ending))
    this.now()
    this.#limit()
    return undefined
  }

  #limit(): void {
    this.#cancelLimit?.()
    this.#cancelLimit = undefined
    const { endsAt } = this
    if (endsAt === undefined || this.#ending) return
    const limitMs = this.#queuedAt === undefined ? this.terms.timeoutMs : undefined
    const leftMs = Math.max(0, endsAt - this.now())
    this.#cancelLimit = this.#parts.env.clock.schedule(leftMs, () => this.stop(timedOut(limitMs)))
  }

  /** Ends an attempt whose handler cannot be started. */
  refuse(why: Fault): void {
    this.#end({ kind: 'fault', fault: why.toRecord() })
  }

  /**
   * Ends the attempt now, for this reason, and aborts the handler's signal. Later results of the handler are ignored.
   */
  stop(why: Fault): void {
    if (this.#ending) return
    this.#stoppedBy = why
    // A stream that is unsubscribed has not failed.
    this.#end(this.#parts.streams?.outcomeOf(this.job.id, why) ?? { kind: 'fault', fault: why.toRecord() })
    this.#controller?.abort(why)
  }

  /**
   * Asks the handler to stop. A result within the grace still counts. After the grace the attempt ends without a
   * result.
   */
  windDown(why: Fault): void {
    if (this.#stoppedBy || this.#ending) return
    this.#stoppedBy = why
    this.#cancelGrace = this.#parts.env.clock.schedule(this.#parts.stopGraceMs, () => this.stop(why))
    this.#controller?.abort(why)
  }

  #return(ending: Ending): void {
    this.#working = false
    if (this.#ending) {
      this.#late?.returned(ending)
      this.#letGo()
    } else this.#end(ending)
    if (this.#onReturn) for (const tell of this.#onReturn) tell()
  }

  /** Only the first end counts. */
  #end(ended: Ending): void {
    if (this.#ending) return
    const ending = bounded(this.#release && ended.kind !== 'deferred' ? this.#redacted(ended) : ended)
    this.#ending = ending
    this.onProgress = undefined
    this.#cancelLimit?.()
    this.#cancelGrace?.()
    if (this.#working) this.#late = new LateHandler(this, ending, this.#parts.env)
    else this.#letGo()
    this.#observation?.ended(isWaiting(ending) ? undefined : ending)
    this.#done?.resolve(ending)
    this.#tell?.(ending)
  }

  #letGo(): void {
    if (this.#release) for (const release of this.#release) release()
    this.#release = undefined
  }

  #redacted(outcome: Outcome): Outcome {
    return cleanOutcome(outcome, this.#parts.env.redact)
  }

  /** Conceals a secret that the handler is about to receive. From now on it appears in no log, record or reply. */
  conceal(value: string): string {
    const release = this.#parts.env.conceal(value)
    this.#release ??= []
    // After the end nothing would release the secret, so it is released at once.
    if (this.#ending) release()
    else this.#release.push(release)
    return value
  }

  /** True if the handler has received a secret. */
  get conceals(): boolean {
    return this.#release !== undefined
  }

  /** Redacts secrets from output, if the handler has received any. */
  cleaned<T extends JsonValue>(value: T): T {
    return this.#release ? (this.#parts.env.redact(value) as T) : value
  }

  /** The same for bytes. A secret that the handler receives during the stream is redacted from then on. */
  cleaningBytes(): ByteRedactor {
    return cleanBytes(
      () => this.conceals,
      () => this.#parts.env.redactBytes(),
    )
  }
}
