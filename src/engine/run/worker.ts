/**
 * Runs recorded calls: connects the claim loop, the table of running calls, and the parts that start, settle and end
 * them. The rest of the engine uses it to start, stop and end calls.
 */

import type { Instance } from '../../core/call/instance.ts'
import type { SlotOwner } from '../../core/fairness/slot-shares.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { AttemptParts } from '../attempt/job.ts'
import { Conclusions } from '../end/conclusions.ts'
import { faultOutcome } from '../end/end-faults.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import type { CallSecrets } from '../wait/call-secrets.ts'
import type { HeldCalls } from '../wait/held-calls.ts'
import { HeldStart } from '../wait/held-start.ts'
import { AwaitedCalls } from './awaited-calls.ts'
import { CallEnds } from './call-ends.ts'
import { Claiming } from './claim-loop.ts'
import { ClaimedCalls } from './claimed-calls.ts'
import { type LeaseParts, stillLeased } from './old-lease.ts'
import { Retries } from './retries.ts'
import { RunningCalls } from './running-calls.ts'
import { Settling } from './settling.ts'
import { Starting } from './starting.ts'

export interface WorkerSettings {
  leaseMs: number
  /** The longest interval between two claims, to find due calls of other nodes and of crashed ones. */
  claimEveryMs: number
  /**
   * A call that was interrupted more often than this (crash, lost lease) is given up, because it may be what crashes
   * the process.
   */
  maxCutOffs: number
  /** Progress is stored at most this often. */
  progressEveryMs: number
  /** How long a dead letter is kept at least. Default: not longer than other calls. */
  deadLetterMs?: number
}

export class Worker {
  readonly retries: Retries
  readonly leaseMs: number
  readonly #lease: LeaseParts
  readonly #store: Store
  readonly #limits: Limits
  readonly #attempts: AttemptParts
  readonly #conclusions: Conclusions
  readonly #running: RunningCalls
  readonly #awaited: AwaitedCalls
  readonly #ends: CallEnds
  readonly #starting: Starting
  readonly #claimed: ClaimedCalls
  readonly #claiming: Claiming

  constructor(
    registry: Registry,
    store: Store,
    limits: Limits,
    attempts: AttemptParts,
    settings: WorkerSettings,
    held: HeldCalls,
    secrets: CallSecrets,
  ) {
    const { env, stopGraceMs } = attempts
    const { leaseMs, claimEveryMs, maxCutOffs, progressEveryMs } = settings
    const wake = () => this.wake()
    const conclusions = new Conclusions(
      env,
      store,
      attempts.observer,
      attempts.outbox,
      occupying(registry, limits),
      settings.deadLetterMs,
    )
    const running = new RunningCalls({
      env,
      store,
      leaseMs,
      progressEveryMs,
      ended: (call, ending, progressWritten) => settling.ended(call, ending, progressWritten),
    })
    const awaited = new AwaitedCalls()
    const ends = new CallEnds({ attempts, registry, limits, conclusions, awaited, held })
    const stopped = () => claiming.stopped
    const retries = new Retries({ env, stopGraceMs, conclusions, stopped, wake })
    const wakeOthers = () => store.wakeUps?.send()
    const settling = new Settling({
      attempts,
      store,
      limits,
      conclusions,
      running,
      awaited,
      ends,
      retries,
      wake,
      wakeOthers,
    })
    const lease = { env, store, leaseMs, stopped }
    const starting = new Starting({ attempts, limits, conclusions, running, secrets, lease })
    const heldStart = new HeldStart({
      held,
      conclusions,
      clock: env.clock,
      leaseMs,
      end: (instance, operation, why) => ends.endUnbegun(instance, operation, faultOutcome(why), false),
    })
    const claimed = new ClaimedCalls({
      attempts,
      registry,
      limits,
      conclusions,
      running,
      ends,
      starting,
      heldStart,
      lease,
      maxCutOffs,
      wake,
    })
    const claiming = new Claiming({
      env,
      registry,
      store,
      limits,
      leaseMs,
      claimEveryMs,
      begin: (instance) => claimed.begin(instance),
      giveBack: async (instance) => void (await conclusions.giveBackUnbegun(instance)),
    })
    this.retries = retries
    this.leaseMs = leaseMs
    this.#lease = lease
    this.#store = store
    this.#limits = limits
    this.#attempts = attempts
    this.#conclusions = conclusions
    this.#running = running
    this.#awaited = awaited
    this.#ends = ends
    this.#starting = starting
    this.#claimed = claimed
    this.#claiming = claiming
    limits.onFreed = wake
    store.wakeUps?.receive(wake)
  }

  /** True if this node claims due calls. */
  get claims(): boolean {
    return !this.#claiming.stopped
  }

  /** True if a call accepted now may start at once if it has a slot. */
  canStart(who: SlotOwner): boolean {
    return this.claims && this.#limits.mayStart(who)
  }

  /** See `old-lease.ts`. */
  stillLeased(instance: Instance): true | Promise<boolean> {
    return stillLeased(this.#lease, instance)
  }

  /** Gives back a call that has a slot and must not be started here. */
  leave(instance: Instance, operation: Operation): void {
    void this.#claimed.leave(instance, operation)
  }

  /** Runs a call for which this node holds the lease and a slot. `args` avoids parsing the arguments a second time. */
  start(instance: Instance, operation: Operation, args?: { parsed: unknown }): void {
    this.#starting.start(instance, operation, args)
  }

  /** Takes over an attempt that started before its call was recorded. */
  adopt(attempt: Attempt, instance: Instance, operation: Operation): void {
    this.#running.watch(attempt, instance, operation)
  }

  /** The caller waits on this node for the outcome. */
  expectDirectly(id: string): void {
    this.#awaited.expectDirectly(id)
  }

  waitsNoMore(id: string): void {
    this.#awaited.end(id)
  }

  /** Stops the attempt if it runs on this node. Otherwise asks the other processes of this server. */
  stopAnywhere(id: string, why: Fault): void {
    if (!this.stopAttempt(id, why)) this.#attempts.siblings?.stop(id, why)
  }

  /** Stops the attempt if it runs on this node. False if it does not. */
  stopAttempt(id: string, why: Fault): boolean {
    return this.#running.stopAttempt(id, why)
  }

  /** How many recorded calls of each operation run on this node, by registry key. */
  runningCounts(): ReadonlyMap<string, number> {
    return this.#running.counts()
  }

  /** Ends a call that no worker runs. Returns false and changes nothing if a worker has claimed it since. */
  endUnrun(seen: Instance, why: Fault): Promise<boolean> {
    return this.#ends.endUnrun(seen, why)
  }

  /**
   * Delivers a callback: `taken` if the call waited for it, `answered` if it comes too late, `unknown` if no such call
   * waits. `failures` says which try it belongs to.
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

  /** Claims due calls now. */
  wake(): void {
    this.#claiming.wake()
  }

  /**
   * Stops claiming, waits for running calls, then asks the rest to stop and gives them back. Other nodes are woken as
   * soon as there is something for them: at once for queued calls, and again for every call that is given back.
   */
  async stop(graceMs: number): Promise<void> {
    const claimed = this.#claiming.stop()
    this.#conclusions.hurry()
    const cancel = this.#attempts.env.clock.schedule(graceMs, () => {
      this.#running.cutOffAll()
      void this.#conclusions.giveUp()
    })
    await claimed
    this.#store.wakeUps?.send()
    await this.#running.idle()
    cancel()
    this.#running.stopRenewing()
    await this.#conclusions.giveUp()
  }
}

/** A call whose end cannot be written takes a slot. Otherwise the number of such calls would be unbounded. */
function occupying(registry: Registry, limits: Limits): (instance: Instance) => () => void {
  return (instance) => {
    const operation = registry.byKey(instance.operation)
    if (!operation) return () => {}
    limits.started(operation, instance)
    return () => limits.ended(operation, instance)
  }
}
