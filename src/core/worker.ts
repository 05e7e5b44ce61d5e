/**
 * Runs recorded calls: claims them under a lease, keeps the lease while the handler works, and writes down how each
 * attempt ended. It is the only writer of an instance's state after its acceptance.
 */
import { correlation } from './admitted.ts'
import { Attempt } from './attempt.ts'
import { canceled, cutOffByShutdown, faultOutcome, givenUp, leaseLost, outcomeName, outcomeUnknown } from './endings.ts'
import { Fault } from './fault.ts'
import type { AttemptParts, Job } from './job.ts'
import type { Limits } from './limits.ts'
import { type Instance, type Outcome, ownerOf } from './model.ts'
import type { Operation } from './operation.ts'
import type { Change, Claim, Store } from './ports.ts'
import { throttleProgress } from './progress.ts'
import type { Registry } from './registry.ts'
import type { Given } from './requirements.ts'
import { retryDelay } from './retry.ts'
import { statesBefore } from './state.ts'

export interface WorkerSettings {
  leaseMs: number
  /** How long at most until due work of other nodes and crashed ones is looked for. */
  claimEveryMs: number
  /** A call that was cut off this often (crash, lost lease) is given up: it may be what crashes the process. */
  maxCutOffs: number
  /** Progress is stored at most this often. */
  progressEveryMs: number
}

/** Child calls are claimed in any case, so many at a time. */
const CHILD_BATCH = 64

interface Running {
  attempt: Attempt
  instance: Instance
  operation: Operation
  /** Its end is being written. */
  concluding: boolean
}

export class Worker {
  readonly #running = new Map<string, Running>()
  readonly #awaited = new Set<string>()
  readonly #given = new Map<string, Given>()
  readonly #registry: Registry
  readonly #bounded: readonly Operation[]
  readonly #store: Store
  readonly #limits: Limits
  readonly #parts: AttemptParts
  readonly #settings: WorkerSettings
  readonly #shutdown = cutOffByShutdown()
  #claiming = false
  #claimUnderWay: Promise<void> | undefined
  #claimAgain = false
  #stopping = false
  /** Whatever begins from now on is told to stop at once. */
  #graceOver = false
  #cancelClaimTimer: (() => void) | undefined
  #cancelLeaseTimer: (() => void) | undefined
  #whenIdle: (() => void) | undefined

  constructor(registry: Registry, store: Store, limits: Limits, parts: AttemptParts, settings: WorkerSettings) {
    this.#registry = registry
    this.#bounded = registry.keys.flatMap((key) => registry.byKey(key) ?? []).filter(isBounded)
    this.#store = store
    this.#limits = limits
    this.#parts = parts
    this.#settings = settings
    limits.onFreed = () => this.wake()
  }

  get leaseMs(): number {
    return this.#settings.leaseMs
  }

  /** Whether a call accepted now may be started at once, without overtaking those that wait. */
  canStart(operation: Operation): boolean {
    return !this.#stopping && this.#limits.queued === 0 && this.#limits.hasSlot(operation)
  }

  /** Runs an instance this node holds the lease and has taken a slot for. `args` saves parsing again where they were parsed just now. */
  start(instance: Instance, operation: Operation, args?: { parsed: unknown }): void {
    const job = jobOf(instance, operation)
    const given = this.#given.get(instance.id)
    const attempt = new Attempt(given ? { ...job, given } : job, instance.attempt, this.#parts)
    this.#watch(attempt, instance, operation)
    if (args) attempt.start(args.parsed)
    else void this.#parseAndStart(attempt, instance, operation)
  }

  /** Takes over an attempt that began before its call was recorded. */
  adopt(attempt: Attempt, instance: Instance, operation: Operation): void {
    this.#watch(attempt, instance, operation)
  }

  /** What was handed over with a call is for all its attempts, as long as this process lives. */
  keepGiven(id: string, given: Given | undefined): void {
    if (given) this.#given.set(id, given)
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

  /** Stops the attempt if it runs here; false if it does not, or not any more. */
  stopAttempt(id: string, why: Fault): boolean {
    const running = this.#running.get(id)
    if (!running || running.concluding) return false
    running.attempt.stop(why)
    return true
  }

  /** Ends a call as it was seen: if somebody has taken it up since, nothing happens. A call that never began gives its key back. */
  async endUnrun(seen: Instance, why: Fault): Promise<boolean> {
    const { id, attempt, owner, createdAt } = seen
    const outcome = faultOutcome(why)
    const change: Change = { id, from: statesBefore('error'), to: 'error', attempt, outcome, releaseKey: attempt === 0 }
    const { applied } = await this.#store.advance(change)
    if (!applied) return false
    this.#given.delete(id)
    this.#limits.closed(owner)
    if (attempt === 0) this.#limits.dequeued()
    const operation = this.#registry.byKey(seen.operation)
    if (operation) this.#parts.observer?.callEnded(operation, why.kind, this.#parts.env.clock.now() - createdAt)
    return true
  }

  /** Looks for due work now. */
  wake(): void {
    if (this.#stopping) return
    if (this.#claiming) this.#claimAgain = true
    else this.#claimUnderWay = this.#claim()
  }

  /** Takes no new work, lets what runs end, then tells the rest to stop and hands it back. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    this.#cancelClaimTimer?.()
    const cancel = this.#parts.env.clock.schedule(graceMs, () => {
      this.#graceOver = true
      for (const running of this.#running.values()) this.#cutOff(running)
    })
    await this.#claimUnderWay
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    cancel()
    this.#cancelLeaseTimer?.()
  }

  async #claim(): Promise<void> {
    this.#claiming = true
    this.#cancelClaimTimer?.()
    const { clock, log } = this.#parts.env
    let nextInMs = this.#settings.claimEveryMs
    try {
      const free = this.#limits.rules.runningCalls - this.#limits.running
      const claimed = await this.#store.claim(this.#claimFor(free))
      for (const instance of claimed.instances) {
        if (this.#stopping) await this.#giveBackUnbegun(instance)
        else this.#begin(instance)
      }
      if (claimed.instances.length === free) this.#claimAgain = true
      // Without a free slot somebody else's due time is of no use: a slot that is given back wakes us.
      if (claimed.nextDueAt !== undefined && free > 0)
        nextInMs = Math.min(nextInMs, Math.max(1, claimed.nextDueAt - clock.now()))
    } catch (thrown) {
      log.error({ err: thrown }, 'could not claim work; it is tried again')
    }
    this.#claiming = false
    if (this.#stopping) return
    if (this.#claimAgain && this.#limits.running < this.#limits.rules.runningCalls) {
      this.#claimAgain = false
      this.wake()
      return
    }
    this.#cancelClaimTimer = clock.schedule(nextInMs, () => this.wake())
  }

  /** Without a free slot only what running calls wait for: they hold the slots their children would need. */
  #claimFor(free: number): Claim {
    const { leaseMs } = this.#settings
    const operations = this.#registry.keys
    if (free <= 0) return { operations, leaseMs, limit: CHILD_BATCH, onlyChildren: true }
    const slots = this.#bounded.length > 0 && { slots: this.#limits.slotsOf(this.#bounded) }
    return { operations, leaseMs, limit: free, ...slots }
  }

  /** A claimed instance is run, unless running it again would be wrong. */
  #begin(instance: Instance): void {
    const running = this.#running.get(instance.id)
    if (running && !running.concluding && !running.attempt.stoppedBy) {
      // Our own, whose lease ran out while the whole process stood still: its handler goes on, under the new lease.
      running.instance = instance
      return
    }
    const operation = this.#registry.byKey(instance.operation) as Operation
    if (instance.attempt === 1) this.#limits.dequeued()
    const cutOffs = instance.attempt - 1 - instance.settled
    if (instance.stopRequested) void this.#end(instance, operation, faultOutcome(canceled()))
    else if (cutOffs > 0 && !instance.rerunnable) void this.#end(instance, operation, faultOutcome(outcomeUnknown()))
    else if (cutOffs > this.#settings.maxCutOffs) void this.#end(instance, operation, faultOutcome(givenUp(cutOffs)))
    else if (instance.lineage.length === 0 && !this.#limits.hasSlot(operation)) void this.#giveBackUnbegun(instance)
    else {
      this.#limits.started(operation)
      this.start(instance, operation)
    }
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
    const { clock, log } = this.#parts.env
    attempt.onProgress = throttleProgress(clock, this.#settings.progressEveryMs, (progress) => {
      if (this.#running.get(instance.id) !== running) return false
      const { id, attempt } = running.instance
      this.#store.progress({ id, attempt }, progress).catch((err) => log.warn({ err }, 'progress could not be stored'))
      return true
    })
    if (this.#running.size === 1) this.#keepLeases()
    void attempt.done.then((outcome) => this.#ended(running, outcome))
    if (this.#graceOver) this.#cutOff(running)
  }

  #cutOff({ attempt, instance }: Running): void {
    attempt.stop(instance.rerunnable ? this.#shutdown : outcomeUnknown())
  }

  async #ended(running: Running, outcome: Outcome): Promise<void> {
    const { instance, operation, attempt } = running
    running.concluding = true
    this.#limits.ended(operation)
    try {
      const cutOff = attempt.stoppedBy === this.#shutdown && outcome.kind === 'fault'
      if (cutOff && instance.rerunnable) await this.#giveBack(instance)
      else await this.#conclude(instance, operation, outcome, attempt.began)
    } finally {
      if (this.#running.get(instance.id) === running) this.#running.delete(instance.id)
      if (this.#running.size === 0) this.#whenIdle?.()
    }
  }

  async #conclude(instance: Instance, operation: Operation, outcome: Outcome, began: boolean): Promise<void> {
    if (outcome.kind === 'fault') {
      const failures = instance.failures + 1
      const delayMs = retryDelay(operation.retry, failures, outcome.fault, this.#parts.env.random)
      if (delayMs !== undefined) {
        const dueAt = this.#parts.env.clock.now() + delayMs
        await this.#reschedule(instance, { failures, dueAt })
        this.wake()
        return
      }
    }
    await this.#end(instance, operation, outcome, began || instance.attempt > 1)
  }

  async #end(instance: Instance, operation: Operation, outcome: Outcome, began = true): Promise<void> {
    const to = outcome.kind === 'fault' ? 'error' : 'complete'
    const now = this.#parts.env.clock.now()
    // Told directly, so the operation's own retention counts, not the longer one of a call that had to be polled for.
    const direct = this.#awaited.delete(instance.id) && outcome.kind !== 'location'
    const expiresAt = direct ? instance.createdAt + operation.ttlSeconds * 1000 : instance.expiresAt
    const applied = await this.#write(instance, {
      id: instance.id,
      from: statesBefore(to),
      to,
      attempt: instance.attempt,
      outcome,
      expiresAt,
      keepUntil: instance.idempotencyKey === undefined ? expiresAt : instance.keepUntil,
      releaseKey: !began,
    })
    this.#given.delete(instance.id)
    if (!applied) return
    this.#limits.closed(ownerOf(instance.caller))
    this.#parts.observer?.callEnded(operation, outcomeName(outcome), now - instance.createdAt)
  }

  /** Ready for whoever comes next, without counting as a failure. */
  async #giveBack(instance: Instance): Promise<void> {
    await this.#reschedule(instance, { dueAt: this.#parts.env.clock.now() })
  }

  /** Accounts for this attempt only: if an earlier one was cut off, whoever comes next must still see that. */
  async #giveBackUnbegun(instance: Instance): Promise<void> {
    await this.#reschedule(instance, { dueAt: this.#parts.env.clock.now(), settled: instance.settled + 1 })
  }

  /** Ends an attempt without ending the call. */
  async #reschedule(instance: Instance, rest: { dueAt: number; failures?: number; settled?: number }): Promise<void> {
    const { id, attempt } = instance
    await this.#write(instance, { id, from: ['pending'], to: 'pending', attempt, settled: attempt, ...rest })
  }

  async #write(instance: Instance, change: Change): Promise<boolean> {
    const { log } = this.#parts.env
    const fields = { operation: instance.operation, requestId: instance.requestId, attempt: instance.attempt }
    try {
      const { applied } = await this.#store.advance(change)
      if (!applied) log.warn(fields, 'the lease was lost before the attempt ended; what it did is not recorded')
      return applied
    } catch (thrown) {
      // The lease runs out and the call is run again, or ends as unknown: nothing is claimed that is not stored.
      log.error({ ...fields, err: thrown }, 'the end of an attempt could not be stored')
      return false
    }
  }

  #keepLeases(): void {
    this.#cancelLeaseTimer?.()
    this.#cancelLeaseTimer = this.#parts.env.clock.schedule(this.#settings.leaseMs / 3, () => void this.#extend())
  }

  async #extend(): Promise<void> {
    if (this.#running.size === 0) return
    const leases = [...this.#running.values()].map(({ instance: { id, attempt } }) => ({ id, attempt }))
    try {
      for (const { id, attempt, held, stopRequested } of await this.#store.extend(leases, this.#settings.leaseMs)) {
        // Ended or claimed anew by ourselves meanwhile: then the answer is about a lease that counts no more.
        if (this.#running.get(id)?.instance.attempt !== attempt) continue
        if (!held) this.stopAttempt(id, leaseLost())
        else if (stopRequested) this.stopAttempt(id, canceled())
      }
    } catch (thrown) {
      this.#parts.env.log.error({ err: thrown }, 'leases could not be extended; it is tried again')
    }
    if (this.#running.size > 0) this.#keepLeases()
  }
}

function jobOf(instance: Instance, operation: Operation): Job {
  const { id, caller, requestId, media, lineage } = instance
  return { id, operation, caller, requestId, media, lineage, ...correlation(instance) }
}

function isBounded({ concurrency }: Operation): boolean {
  return concurrency !== undefined
}
