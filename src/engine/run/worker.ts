/**
 * Runs recorded calls: claims them under a lease, keeps the lease while the handler works, and writes down how each
 * attempt ended. Nobody else changes an instance's state after its acceptance.
 */

import { BriefMap } from '../../core/fairness/brief-map.ts'
import type { SlotOwner } from '../../core/fairness/slot-shares.ts'
import { Fault } from '../../core/fault.ts'
import type { Instance, Outcome } from '../../core/instance.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Deferred, Operation } from '../../core/operation.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import { questionsIn } from '../../core/questions.ts'
import type { Given } from '../../core/requirements.ts'
import { Conclusions } from '../end/conclusions.ts'
import { canceled, cutOffByShutdown, faultOutcome, givenUp, leaseLost, outcomeUnknown } from '../end/end-faults.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import { abandon } from '../wait/abandon.ts'
import { KeptGiven } from '../wait/call-secrets.ts'
import type { HeldCalls } from '../wait/held-calls.ts'
import { HeldStart } from '../wait/held-start.ts'
import { Attempt, type AttemptRun, type Ending } from './attempt.ts'
import { Claiming } from './claim-loop.ts'
import type { AttemptParts } from './job.ts'
import { LeaseKeeping } from './lease-renewal.ts'
import { type ProgressWriter, progressOfTry, throttleProgress } from './progress.ts'
import { lastAt, Retries } from './retries.ts'
import { retryDelay } from './retry.ts'
import { canGoOn, canWaitForAnswers, isHeld, isLacking, jobOf, mayHaveActed, type Running } from './running.ts'
import { showingOf, showsAndWaits } from './shown-credentials.ts'

export interface WorkerSettings {
  leaseMs: number
  /** How long at most until due work of other nodes and crashed ones is looked for. */
  claimEveryMs: number
  /** A call that was cut off this often (crash, lost lease) is given up: it may be what crashes the process. */
  maxCutOffs: number
  /** Progress is stored at most this often. */
  progressEveryMs: number
}

/** After a failure of the server's own, before a claimed call is looked at again. */
const LOOK_AGAIN_MS = 1_000

type Failure = Extract<Outcome, { kind: 'fault' }>

export class Worker {
  readonly retries: Retries
  readonly #running = new BriefMap<Running>()
  readonly #awaited = new Set<string>()
  readonly #given: KeptGiven
  readonly #registry: Registry
  readonly #store: Store
  readonly #limits: Limits
  readonly #parts: AttemptParts
  readonly #settings: WorkerSettings
  readonly #conclusions: Conclusions
  readonly #held: HeldCalls
  readonly #heldStart: HeldStart
  readonly #claiming: Claiming
  readonly #leases: LeaseKeeping
  readonly #shutdown = cutOffByShutdown()
  /** Whatever begins from now on is told to stop at once. */
  #graceOver = false
  #whenIdle: (() => void) | undefined

  constructor(
    registry: Registry,
    store: Store,
    limits: Limits,
    parts: AttemptParts,
    settings: WorkerSettings,
    held: HeldCalls,
  ) {
    this.#registry = registry
    this.#store = store
    this.#limits = limits
    this.#parts = parts
    this.#settings = settings
    const occupy = (instance: Instance) => this.#occupy(instance)
    this.#conclusions = new Conclusions(parts.env, store, parts.observer, parts.outbox, occupy)
    this.#held = held
    this.#heldStart = new HeldStart({
      held,
      conclusions: this.#conclusions,
      clock: parts.env.clock,
      leaseMs: settings.leaseMs,
      end: (instance, operation, why) => this.#end(instance, operation, faultOutcome(why), false),
    })
    this.#given = new KeptGiven(store, parts.env.log, parts.siblings)
    const { leaseMs, claimEveryMs } = settings
    this.#claiming = new Claiming({
      env: parts.env,
      registry,
      store,
      limits,
      leaseMs,
      claimEveryMs,
      begin: (instance) => this.#begin(instance),
      giveBack: (instance) => this.#conclusions.giveBackUnbegun(instance),
    })
    this.#leases = new LeaseKeeping({
      env: parts.env,
      store,
      leaseMs,
      leases: () => this.#running.values().map(({ instance: { id, attempt } }) => ({ id, attempt })),
      counts: ({ id, attempt }) => this.#running.get(id)?.instance.attempt === attempt,
      stop: (id, why) => void this.stopAttempt(id, why),
    })
    this.retries = new Retries({
      env: parts.env,
      stopGraceMs: parts.stopGraceMs,
      conclusions: this.#conclusions,
      stopped: () => this.#claiming.stopped,
      wake: () => this.wake(),
    })
    limits.onFreed = () => this.wake()
  }

  get leaseMs(): number {
    return this.#settings.leaseMs
  }

  /** Whether a call accepted now may be started at once if it has a slot. */
  canStart(who: SlotOwner): boolean {
    return !this.#claiming.stopped && this.#limits.mayStart(who)
  }

  /** Runs an instance this node holds the lease and has taken a slot for. `args` saves parsing again where they were parsed just now. */
  start(instance: Instance, operation: Operation, args?: { parsed: unknown }): void {
    const given = this.#given.of(instance, operation)
    if (given instanceof Promise) void this.#startWithHandedOver(given, instance, operation)
    else this.#startWith(given, instance, operation, args)
  }

  /** The process that took the call may be another one. */
  async #startWithHandedOver(
    given: Promise<Given | undefined>,
    instance: Instance,
    operation: Operation,
  ): Promise<void> {
    try {
      this.#startWith(await given, instance, operation)
    } catch (err) {
      this.#parts.env.log.error({ operation: operation.key, err }, 'what a call brought could not be had')
      this.#limits.ended(operation, instance)
      await this.#conclusions.giveBackUnbegun(instance)
    }
  }

  #startWith(given: Given | undefined, instance: Instance, operation: Operation, args?: { parsed: unknown }): void {
    this.#conclusions.noteAsked(instance)
    const job = jobOf(instance, operation)
    const run = this.#runOf(instance, operation)
    const attempt = new Attempt(given ? { ...job, given } : job, instance.attempt, this.#parts, run)
    this.#watch(attempt, instance, operation)
    if (args) attempt.start(args.parsed)
    else void this.#parseAndStart(attempt, instance, operation)
  }

  #runOf(instance: Instance, operation: Operation): AttemptRun | undefined {
    const { id, failures, extras, waiting, answer } = instance
    const { backend } = operation
    if (failures === 0 && !extras && !backend.resume) return undefined
    const endsAt = Math.min(
      extras?.tryEndsAt ?? Number.POSITIVE_INFINITY,
      extras?.deadlineAt ?? Number.POSITIVE_INFINITY,
    )
    return {
      failures,
      ...(Number.isFinite(endsAt) && { endsAt }),
      ...(extras?.deadlineAt !== undefined && { deadlineAt: extras.deadlineAt }),
      ...(waiting !== undefined && { waiting }),
      ...(answer !== undefined && { answer }),
      ...(backend.resume && { expectAnswer: (more) => this.#expectAnswer(id, more) }),
      ...showingOf(this.#parts, instance, operation),
    }
  }

  async #expectAnswer(id: string, waiting: JsonValue): Promise<void> {
    const running = this.#running.get(id)
    if (!running) throw leaseLost()
    const { instance, attempt } = running
    running.instance = await this.#conclusions.expectAnswer(instance, waiting, attempt, this.#settings.leaseMs)
  }

  /** Takes over an attempt that began before its call was recorded. */
  adopt(attempt: Attempt, instance: Instance, operation: Operation): void {
    this.keepGiven(instance, operation, attempt.job.given)
    this.#watch(attempt, instance, operation)
  }

  /** What was handed over with a call is for all its attempts, as long as this process lives. */
  keepGiven(instance: Instance, operation: Operation, given: Given | undefined): void {
    if (given) this.#given.keep(instance, operation, given)
  }

  /** Somebody waits for this outcome directly: it need not be kept for polling. */
  expectDirectly(id: string): void {
    this.#awaited.add(id)
  }

  /** Nobody waits any more, so the outcome is kept for whoever polls; false if its end is being written already. */
  keepForPolling(id: string): boolean {
    this.#awaited.delete(id)
    return this.#running.get(id)?.concluding !== true
  }

  /**
   * The same, also if another process of this server runs it: a promise then, and it is kept when that settles. Only a
   * sync call has somebody who waits directly.
   */
  keepAnywhere({ id, model }: Instance): boolean | Promise<boolean> {
    const { siblings } = this.#parts
    const here = this.keepForPolling(id)
    return siblings && model === 'sync' && !this.#running.has(id) ? siblings.keep(id) : here
  }

  /** Stops the attempt if it runs here, and lets the other processes know if not. */
  stopAnywhere(id: string, why: Fault): void {
    if (!this.stopAttempt(id, why)) this.#parts.siblings?.stop(id, why)
  }

  /** Stops the attempt if it runs here; false if it does not, or not any more. */
  stopAttempt(id: string, why: Fault): boolean {
    const running = this.#running.get(id)
    if (!running || running.concluding) return false
    running.attempt.stop(why)
    return true
  }

  /** Ends a call as it was seen: if somebody has taken it up since, nothing happens. */
  async endUnrun(seen: Instance, why: Fault): Promise<boolean> {
    const operation = this.#registry.byKey(seen.operation)
    const shows = operation !== undefined && showsAndWaits(operation)
    const together = isHeld(seen) || shows ? () => this.#ending(seen, false, shows) : undefined
    if (!(await this.#conclusions.endUnrun(seen, operation, why, together))) return false
    this.#given.forget(seen, operation, true)
    this.#limits.closed(seen.owner)
    if (seen.attempt === 0 && !isHeld(seen)) this.#limits.dequeued(seen)
    if (operation) abandon(this.#parts, seen, operation)
    return true
  }

  /**
   * An answer from outside: whether it is the one that was waited for, comes after that, or is for nothing we know.
   * `failures` says of which try it is.
   */
  async deliver(id: string, answer: JsonValue, failures?: number): Promise<'taken' | 'answered' | 'unknown'> {
    const { applied, instance } = await this.#store.answer(id, answer, failures)
    if (applied) this.wake()
    if (applied) return 'taken'
    if (!instance) return 'unknown'
    const over =
      hasEnded(instance) || instance.answer !== undefined || instance.failures !== (failures ?? instance.failures)
    return over ? 'answered' : 'unknown'
  }

  /** Looks for due work now. */
  wake(): void {
    this.#claiming.wake()
  }

  /** Takes no new work, lets what runs end, then tells the rest to stop and hands it back. */
  async stop(graceMs: number): Promise<void> {
    const claimed = this.#claiming.stop()
    this.#conclusions.hurry()
    const cancel = this.#parts.env.clock.schedule(graceMs, () => {
      this.#graceOver = true
      for (const running of this.#running.values()) this.#cutOff(running)
      void this.#conclusions.giveUp()
    })
    await claimed
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    cancel()
    this.#leases.stop()
    await this.#conclusions.giveUp()
  }

  /** A call whose end cannot be written takes a slot, or calls would go on to end like that without a bound. */
  #occupy(instance: Instance): () => void {
    const operation = this.#registry.byKey(instance.operation)
    if (!operation) return () => {}
    this.#limits.started(operation, instance)
    return () => this.#limits.ended(operation, instance)
  }

  /** A claimed instance is run, unless running it again would be wrong. */
  #begin(instance: Instance): void {
    const running = this.#running.get(instance.id)
    if (this.#conclusions.takesUp(instance)) {
      if (running) running.instance = instance
      return
    }
    if (running && !running.concluding && !running.attempt.stoppedBy) {
      // Our own, whose lease ran out while the whole process stood still: its handler goes on, under the new lease.
      running.instance = instance
      return
    }
    const operation = this.#registry.byKey(instance.operation)
    if (!operation) {
      // It went while this was being claimed: the call waits for it to come back, as those do that nobody claimed.
      void this.#conclusions.giveBackUnbegun(instance)
      return
    }
    if (instance.attempt === 1 && !isHeld(instance)) this.#limits.dequeued(instance)
    const cutOffs = instance.attempt - 1 - instance.settled
    if (instance.stopRequested) {
      void this.#end(instance, operation, faultOutcome(canceled()))
      abandon(this.#parts, instance, operation)
    } else if (cutOffs > 0 && !canGoOn(instance)) void this.#end(instance, operation, faultOutcome(outcomeUnknown()))
    else if (cutOffs > this.#settings.maxCutOffs) void this.#end(instance, operation, faultOutcome(givenUp(cutOffs)))
    else this.#beginIfRoom(instance, operation)
  }

  #beginIfRoom(instance: Instance, operation: Operation): void {
    const isChild = instance.lineage.length > 0
    if (isChild) this.#limits.started(operation, instance)
    const free = isChild || this.#limits.takeClaimed(operation, instance)
    if (free instanceof Promise) void this.#beginOnceFree(free, instance, operation)
    else this.#beginOrGiveBack(free, instance, operation)
  }

  async #beginOnceFree(taking: Promise<boolean>, instance: Instance, operation: Operation): Promise<void> {
    try {
      this.#beginOrGiveBack(await taking, instance, operation)
    } catch (err) {
      this.#parts.env.log.error({ operation: operation.key, err }, 'a slot could not be asked for')
      void this.#conclusions.giveBackUnbegun(instance, this.#parts.env.clock.now() + LOOK_AGAIN_MS)
    }
  }

  #beginOrGiveBack(free: boolean, instance: Instance, operation: Operation): void {
    if (!free) void this.#conclusions.giveBackUnbegun(instance)
    else if (isHeld(instance)) void this.#beginHeld(instance, operation)
    else this.start(instance, operation)
  }

  /** A call that waited for an approval: it was decided, or its time is over. It has its slot before it uses the approval. */
  async #beginHeld(instance: Instance, operation: Operation): Promise<void> {
    let ready: Instance | undefined
    try {
      ready = await this.#heldStart.begin(instance, operation)
    } catch (err) {
      // Nothing of it has begun, and whoever looks again must not take it for one that was cut off.
      this.#parts.env.log.error({ operation: operation.key, err }, 'an approval could not be looked up')
      void this.#conclusions.giveBackUnbegun(instance, this.#parts.env.clock.now() + LOOK_AGAIN_MS)
    }
    if (ready) this.start(ready, operation)
    else this.#limits.ended(operation, instance)
  }

  /** Arguments are stored as received and parsed again at each attempt, so that defaults and transforms are the schema's of today. */
  async #parseAndStart(attempt: Attempt, instance: Instance, operation: Operation): Promise<void> {
    try {
      const args = await operation.parseArgs(instance.args)
      if (attempt.stoppedBy) attempt.refuse(attempt.stoppedBy)
      else attempt.start(args)
    } catch (thrown) {
      attempt.refuse(Fault.from(thrown))
    }
  }

  #watch(attempt: Attempt, instance: Instance, operation: Operation): void {
    const running: Running = { attempt, instance, operation, concluding: false }
    this.#running.set(instance.id, running)
    let reported: ProgressWriter | undefined
    attempt.onProgress = (progress) => {
      reported ??= this.#progressOf(running)
      reported.report(progress)
    }
    // Whoever follows the call sees that it begins anew.
    if (instance.failures > 0 && instance.progress?.attempt !== instance.failures + 1)
      attempt.onProgress({ fraction: 0 })
    if (this.#running.size === 1) this.#leases.start()
    attempt.whenEnded((ending) => this.#ended(running, ending, reported?.flush()))
    if (this.#graceOver) this.#cutOff(running)
  }

  #progressOf(running: Running): ProgressWriter {
    const { clock, log } = this.#parts.env
    const { failures, progress: before } = running.instance
    const ofTry = progressOfTry(failures + 1, before)
    return throttleProgress(clock, this.#settings.progressEveryMs, (progress) => {
      const { id, attempt } = running.instance
      if (this.#running.get(id) !== running) return undefined
      const writing = this.#store.progress({ id, attempt }, ofTry(progress))
      return writing.catch((err) => log.warn({ err }, 'progress could not be stored'))
    })
  }

  #cutOff({ attempt, instance }: Running): void {
    attempt.windDown(canGoOn(instance) ? this.#shutdown : outcomeUnknown())
  }

  /** Here and below each promise counts: five async functions in a row were 5 % of a durable call. */
  #ended(running: Running, ending: Ending, progressWritten?: Promise<void>): void {
    const failed = (err: unknown) => {
      this.#leave(running)
      this.#parts.env.log.error({ operation: running.operation.key, err }, 'what follows the end of a call failed')
    }
    running.concluding = true
    try {
      const { attempt, operation, instance } = running
      // Until its handler returns it takes the room it took, whatever has become of the call.
      if (attempt.returned) this.#limits.ended(operation, instance)
      else attempt.whenReturned(() => this.#limits.ended(operation, instance))
      // What was reported last is seen before the end, or never.
      const settling = progressWritten
        ? progressWritten.then(() => this.#settle(running, ending))
        : this.#settle(running, ending)
      settling.then(() => this.#leave(running), failed)
    } catch (err) {
      failed(err)
    }
  }

  #leave(running: Running): void {
    const { id } = running.instance
    if (this.#running.get(id) === running) this.#running.delete(id)
    if (this.#running.size === 0) this.#whenIdle?.()
  }

  #settle(running: Running, ending: Ending): Promise<void> {
    if (ending.kind === 'deferred') return this.#leaveWaiting(running, ending.deferred)
    if (ending.kind !== 'fault') return this.#conclude(running, ending)
    if (running.attempt.stoppedBy === this.#shutdown) return this.#conclusions.giveBack(running.instance)
    return this.#failed(running, ending)
  }

  async #leaveWaiting({ instance, attempt }: Running, deferred: Deferred): Promise<void> {
    await this.#conclusions.leaveWaiting(instance, deferred, attempt)
    this.wake()
  }

  async #failed(running: Running, outcome: Failure): Promise<void> {
    const { instance, operation, attempt } = running
    if (await this.#wasAnswered(running)) {
      await this.#conclusions.giveBack(instance)
      this.wake()
      return
    }
    if (!attempt.began) abandon(this.#parts, instance, operation)
    const questions = questionsIn(outcome.fault)
    // Who waits for the outcome itself is told what is asked, and sends the call again with the answers.
    if (questions && !this.#awaited.has(instance.id) && canWaitForAnswers(instance, questions)) {
      await this.#conclusions.leaveAsking(instance, questions, attempt)
      this.wake()
      return
    }
    if (await this.retries.afterStorageFailure(attempt, instance)) return
    const failures = instance.failures + 1
    const delayMs = retryDelay(attempt.terms.retry, failures, outcome.fault, this.#parts.env.random)
    // Both times are the attempt's, whatever the wall clock was set to since.
    if (delayMs === undefined || attempt.now() + delayMs >= lastAt(instance, attempt))
      return this.#conclude(running, outcome)
    await this.retries.schedule(attempt, instance, outcome.fault, delayMs)
  }

  #conclude(running: Running, outcome: Outcome): Promise<void> {
    const { instance, operation, attempt } = running
    const acted = mayHaveActed(running, outcome)
    const unbegun = !acted && outcome.kind === 'fault' && isLacking(outcome)
    return this.#end(instance, operation, unbegun ? { ...outcome, unbegun } : outcome, acted, attempt.traceparent)
  }

  /** Whether an answer has come that this attempt did not know of: it counts, whatever became of looking for one. */
  async #wasAnswered({ instance, attempt }: Running): Promise<boolean> {
    if (instance.waiting === undefined || attempt.run.answer !== undefined) return false
    if (attempt.stoppedBy?.kind === 'canceled') return false
    return (await this.#store.get(instance.id))?.answer !== undefined
  }

  #end(instance: Instance, operation: Operation, outcome: Outcome, acted = true, traceparent?: string): Promise<void> {
    const direct = this.#awaited.delete(instance.id)
    const asks = outcome.kind === 'fault' && questionsIn(outcome.fault) !== undefined
    const shows = showsAndWaits(operation)
    const together = asks || isHeld(instance) || shows ? () => this.#ending(instance, asks, shows) : undefined
    const ending = this.#conclusions.end(instance, operation, outcome, { acted, direct, traceparent, together })
    return ending.then((applied) => {
      this.#given.forget(instance, operation, applied)
      if (applied) this.#limits.closed(instance.owner)
    })
  }

  /** What is written with the end of a call: its approval is closed, and what its tool was shown is forgotten. */
  async #ending(instance: Instance, asks: boolean, shows: boolean): Promise<readonly RecordChange[]> {
    const records = await this.#held.ending(instance, asks)
    return shows ? [...records, ...(this.#parts.shown?.forgetting(instance.id) ?? [])] : records
  }
}
