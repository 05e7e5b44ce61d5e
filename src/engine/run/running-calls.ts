/**
 * The table of calls that run on this node. It renews their leases, stores their progress, and passes on requests to
 * stop. `settling.ts` handles the end of an attempt.
 */

import type { Instance, Progress } from '../../core/call/instance.ts'
import { BriefMap } from '../../core/fairness/brief-map.ts'
import type { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Ending } from '../attempt/ending.ts'
import { cutOffByShutdown, outcomeUnknown } from '../end/end-faults.ts'
import { LeaseKeeping } from './lease-renewal.ts'
import { type ProgressWriter, progressOfTry, throttleProgress } from './progress.ts'
import { canGoOn, type Running } from './running.ts'

export interface RunningCallsParts {
  env: Environment
  store: Store
  leaseMs: number
  /** Progress is stored at most this often. */
  progressEveryMs: number
  /** `progressWritten` resolves when the last progress report is stored. Absent if there was no report. */
  ended(running: Running, ending: Ending, progressWritten?: Promise<void>): void
}

export class RunningCalls {
  readonly #parts: RunningCallsParts
  readonly #running = new BriefMap<Running>()
  readonly #leases: LeaseKeeping
  readonly #shutdown = cutOffByShutdown()
  readonly #unknown = outcomeUnknown()
  /** If true, a call that starts is asked to stop at once. */
  #graceOver = false
  #whenIdle: (() => void) | undefined

  constructor(parts: RunningCallsParts) {
    this.#parts = parts
    this.#leases = new LeaseKeeping({
      env: parts.env,
      store: parts.store,
      leaseMs: parts.leaseMs,
      leases: () => this.#running.values().map(({ instance: { id, attempt } }) => ({ id, attempt })),
      counts: ({ id, attempt }) => this.#running.get(id)?.instance.attempt === attempt,
      stop: (id, why) => void this.stopAttempt(id, why),
    })
  }

  get(id: string): Running | undefined {
    return this.#running.get(id)
  }

  /** How many calls of each operation run, by registry key. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { operation } of this.#running.values()) counts.set(operation.key, (counts.get(operation.key) ?? 0) + 1)
    return counts
  }

  /** Adds a call to the table, until `leave`. */
  watch(attempt: Attempt, instance: Instance, operation: Operation): void {
    const running: Running = { attempt, instance, operation, concluding: false }
    this.#running.set(instance.id, running)
    let reported: ProgressWriter | undefined
    const report = (progress: Progress) => {
      reported ??= this.#progressOf(running)
      reported.report(progress)
    }
    // By way of a variable: V8 allocates a function literal that is assigned to a property in the old generation, where
    // it kept 0.9 kB of each call until the next full collection.
    attempt.onProgress = report
    // A caller that watches the call sees that it starts again.
    if (instance.failures > 0 && instance.progress?.attempt !== instance.failures + 1) report({ fraction: 0 })
    if (this.#running.size === 1) this.#leases.start()
    attempt.whenEnded((ending) => this.#parts.ended(running, ending, reported?.flush()))
    if (this.#graceOver) this.#cutOff(running)
  }

  leave(running: Running): void {
    const { id } = running.instance
    if (this.#running.get(id) === running) this.#running.delete(id)
    if (this.#running.size === 0) this.#whenIdle?.()
  }

  /** Stops the attempt if it runs on this node. False if it does not. */
  stopAttempt(id: string, why: Fault): boolean {
    const running = this.#running.get(id)
    if (!running || running.concluding) return false
    running.attempt.stop(why)
    return true
  }

  /** The grace of a shutdown is over. Asks every running call to stop, and every later one when it starts. */
  cutOffAll(): void {
    this.#graceOver = true
    for (const running of this.#running.values()) this.#cutOff(running)
  }

  /** True if the shutdown stopped this attempt and another node may run the call again. */
  wasCutOff({ attempt }: Running): boolean {
    const { stoppedBy, began } = attempt
    return stoppedBy === this.#shutdown || (stoppedBy === this.#unknown && !began)
  }

  /** Resolves when no call runs on this node. */
  async idle(): Promise<void> {
    if (this.#running.size === 0) return
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve
    })
  }

  stopRenewing(): void {
    this.#leases.stop()
  }

  #cutOff({ attempt, instance }: Running): void {
    attempt.windDown(canGoOn(instance) ? this.#shutdown : this.#unknown)
  }

  #progressOf(running: Running): ProgressWriter {
    const { env, store, progressEveryMs } = this.#parts
    const { failures, progress: before } = running.instance
    const ofTry = progressOfTry(failures + 1, before)
    return throttleProgress(env.clock, progressEveryMs, (progress) => {
      const { id, attempt } = running.instance
      if (this.#running.get(id) !== running) return undefined
      const writing = store.progress({ id, attempt }, ofTry(progress))
      return writing.catch((err) => env.log.warn({ err }, 'could not store progress'))
    })
  }
}
