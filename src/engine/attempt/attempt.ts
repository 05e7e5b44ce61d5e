/**
 * One run of one operation: starts the handler, bounds its time, stops it, and keeps the first ending. Its end
 * and the handler's return are two events: an attempt that is stopped ends at once, and the handler returns when it
 * does. Retries and records are left to others.
 */

import { Fault } from '../../core/fault.ts'
import type { Outcome, Progress } from '../../core/instance.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Deferred, EffectiveTerms } from '../../core/operation.ts'
import type { AttemptObservation } from '../../core/ports/observer.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import { questionsIn } from '../../core/questions.ts'
import { effectiveTerms } from './call-terms.ts'
import { cleanOutcome } from './cleaning.ts'
import { runHandler } from './handler-run.ts'
import type { AttemptParts, Job } from './job.ts'
import { LateHandler } from './late-handler.ts'

/** Of a failure's message: a remote tool may say as much as it likes. */
const MAX_MESSAGE = 4_000

/** How an attempt ended: for good, or by leaving the call to wait. */
export type Ending = Outcome | Deferral

export interface Deferral {
  kind: 'deferred'
  deferred: Deferred
}

/** Where in a call's life an attempt stands. */
export interface AttemptRun {
  /** How many tries have failed before it. */
  failures: number
  /** When this try's time, or that of all tries, is over; the operation's limit of one attempt counts besides. */
  endsAt?: number
  /** When that of all tries is over. Both by the attempt's own time. */
  deadlineAt?: number
  /** What an earlier attempt of the same try left behind. */
  waiting?: JsonValue
  answer?: JsonValue
  /** Absent where the call is not recorded: such a call cannot wait. */
  expectAnswer?(waiting: JsonValue): Promise<void>
  /** What the tool is about to see, for when its answer comes. */
  keepShown?(values: readonly string[]): Promise<void>
  /** What earlier attempts have shown it. */
  recallShown?(): Promise<readonly string[]>
}

const FIRST_TRY: AttemptRun = { failures: 0 }

export class Attempt {
  readonly job: Job
  readonly number: number
  readonly run: AttemptRun
  readonly #parts: AttemptParts
  #ending: Ending | undefined
  #done: PromiseWithResolvers<Ending> | undefined
  #tell: ((ending: Ending) => void) | undefined
  /** When the operation's own limit of this attempt is over, once anyone has asked. */
  #ownEndsAt: number | undefined
  /** Since when the backend waits for its turn: its time stands still meanwhile. */
  #queuedAt: number | undefined
  /** What the wall clock was ahead of the monotonic one when this attempt first looked. */
  #wallAheadMs: number | undefined
  #controller: AbortController | undefined
  #stoppedBy: Fault | undefined
  /** The handler was called and has not returned. */
  #working = false
  #late: LateHandler | undefined
  #onReturn: (() => void)[] | undefined
  #observation: AttemptObservation | undefined
  /** Secrets this run has seen, to be forgotten when its handler has returned. */
  #release: (() => void)[] | undefined
  #cancelLimit: (() => void) | undefined
  #cancelGrace: (() => void) | undefined
  onProgress: ((progress: Progress) => void) | undefined
  /** Whether the handler was called. */
  began = false
  /** Whether the handler has called other operations. */
  calledOthers = false
  /** Whether one of them was not refused. */
  othersBegan = false
  /** Whether it, or a try before it, left bytes in the object store. */
  storedObjects = false
  /** What it failed of, where that was the server's own storage. */
  storageFault: Fault | undefined

  constructor(job: Job, number: number, parts: AttemptParts, run: AttemptRun = FIRST_TRY) {
    this.job = job
    this.number = number
    this.#parts = parts
    this.run = run
  }

  /** Never rejects. Made for those who wait; most calls end before anybody does. */
  get done(): Promise<Ending> {
    if (!this.#done) {
      this.#done = Promise.withResolvers()
      if (this.#ending) this.#done.resolve(this.#ending)
    }
    return this.#done.promise
  }

  /** Told within its end, or at once if it has ended: for the one that watches it, without a promise. */
  whenEnded(tell: (ending: Ending) => void): void {
    if (this.#ending) tell(this.#ending)
    else this.#tell = tell
  }

  /** Whether its outcome is decided; the handler may still run. */
  get ended(): boolean {
    return this.#ending !== undefined
  }

  /** Whether the handler has returned, or never began: nothing of this attempt runs any more. */
  get returned(): boolean {
    return !this.#working
  }

  /** Told when the handler returns, which may be long after the end; at once if it has returned. */
  whenReturned(tell: () => void): void {
    if (!this.#working) tell()
    else if (this.#onReturn) this.#onReturn.push(tell)
    else this.#onReturn = [tell]
  }

  get terms(): EffectiveTerms {
    return effectiveTerms(this.job.operation, this.job.terms)
  }

  /** Wall time that goes on evenly from the attempt's first look, so that setting the clock moves no limit of it. */
  now(): number {
    const { clock } = this.#parts.env
    // It ended in the turn in which it began: there is no interval to measure, and one look at one clock is enough.
    if (this.#ending && this.#wallAheadMs === undefined) return clock.now()
    const passedMs = clock.monotonicMs()
    this.#wallAheadMs ??= clock.now() - passedMs
    return this.#wallAheadMs + passedMs
  }

  /** A further try of a call keeps the time of the one before. */
  follow(before: Attempt): void {
    before.now()
    this.#wallAheadMs = before.#wallAheadMs
  }

  /** When its time is over, if it has a limit. While the backend waits for its turn only the call's deadline counts. */
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

  /** The backend waits for its turn at something of its own: that time does not count against the limit of the attempt. */
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

  /** By how much the wall clock was set forward since this attempt first looked; negative if back. */
  get wallSetMs(): number {
    return this.#parts.env.clock.now() - this.now()
  }

  /** When the time of all tries is over, by the wall clock as it is now. */
  get deadlineAt(): number | undefined {
    const { deadlineAt } = this.run
    return deadlineAt === undefined ? undefined : deadlineAt + this.wallSetMs
  }

  /** The attempt's own span where there is one, so that what the handler calls hangs below it. */
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

  /** Why it was told to stop, if it was. */
  get stoppedBy(): Fault | undefined {
    return this.#stoppedBy
  }

  /** Says whether the handler threw this after the attempt had ended: then it is only logged. */
  threwLate(thrown: unknown): boolean {
    this.#late?.threw(thrown)
    return this.#late !== undefined
  }

  /** After its end a handler may tidy up; it starts nothing more in the call's name. */
  throwIfStopped(): void {
    if (this.#ending && this.#stoppedBy) throw this.#stoppedBy
  }

  /**
   * `args` is the schema's output; what the handler returns is validated before anyone sees it. The outcome is returned
   * where there is one at once: a handler that does not wait costs neither a timer nor a turn.
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

  /** Ends the attempt now, for this reason, and tells the handler: what it still does or returns changes nothing. */
  stop(why: Fault): void {
    if (this.#ending) return
    this.#stoppedBy = why
    this.#end({ kind: 'fault', fault: why.toRecord() })
    this.#controller?.abort(why)
  }

  /** Tells the handler to stop. What it returns within the grace still counts; after that the attempt ends without it. */
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

  /** The first end counts. */
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

  /** A secret value the handler is about to see: from here on it is in no log, no record and no reply. */
  conceal(value: string): string {
    const release = this.#parts.env.conceal(value)
    this.#release ??= []
    // A handler that goes on after its end holds nothing that would never be released.
    if (this.#ending) release()
    else this.#release.push(release)
    return value
  }

  /** Whether the handler has seen a secret. */
  get conceals(): boolean {
    return this.#release !== undefined
  }

  /** Text or data on its way out: without secrets, where the handler has seen any. */
  cleaned<T extends JsonValue>(value: T): T {
    return this.#release ? (this.#parts.env.redact(value) as T) : value
  }

  /** The same for bytes. A secret that the handler gets while they are under way counts from then on. */
  cleaningBytes(): ByteRedactor {
    let redactor: ByteRedactor | undefined
    return {
      push: (bytes) => {
        if (this.#release) redactor ??= this.#parts.env.redactBytes()
        return redactor ? redactor.push(bytes) : bytes
      },
      end: () => redactor?.end() ?? new Uint8Array(),
    }
  }
}

/** Whether the call goes on later: with an answer from outside, or with its caller's. */
function isWaiting(ending: Ending): ending is Deferral {
  return ending.kind === 'deferred' || (ending.kind === 'fault' && questionsIn(ending.fault) !== undefined)
}

/** Only after secrets were taken out: half of one would not be found. */
function bounded(ending: Ending): Ending {
  if (ending.kind !== 'fault' || ending.fault.message.length <= MAX_MESSAGE) return ending
  const { fault } = ending
  const message = `${fault.message.slice(0, MAX_MESSAGE)}…`
  const { exceptionText } = fault
  const short = Fault.fromRecord({ ...fault, message, ...(exceptionText !== undefined && { exceptionText }) })
  return { ...ending, fault: short.toRecord() }
}

/** Without a limit of its own it was the time of all attempts together that ran out. */
function timedOut(limitMs: number | undefined): Fault {
  if (limitMs === undefined) return new Fault('timeout', 'The operation did not finish by its deadline.')
  return new Fault('timeout', `The operation did not finish within ${limitMs} ms.`, { details: { timeoutMs: limitMs } })
}
