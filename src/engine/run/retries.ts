/**
 * When a failed call is tried again on this node. A handler that still runs after its attempt has ended holds up the
 * next attempt, until it returns or the grace is over, so that two attempts of one call do not overlap without need.
 */

import type { FaultRecord } from '../../core/fault.ts'
import type { Instance } from '../../core/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Conclusions } from '../end/conclusions.ts'
import { storageDelay } from './retry.ts'
import { canGoOn } from './running.ts'

export interface RetriesParts {
  env: Environment
  stopGraceMs: number
  conclusions: Conclusions
  /** Whether this node takes no more work. */
  stopped(): boolean
  wake(): void
}

export class Retries {
  readonly #parts: RetriesParts

  constructor(parts: RetriesParts) {
    this.#parts = parts
  }

  /** Ends a try of a recorded call. The time of the next one is stored at once: any node may make it if this one dies. */
  async schedule(attempt: Attempt, instance: Instance, fault: FaultRecord, delayMs: number): Promise<void> {
    const { env, conclusions, wake } = this.#parts
    const failedAt = attempt.now()
    const holdMs = this.holdMs(attempt, delayMs, attempt.run.deadlineAt)
    if (!(await conclusions.retryLater(instance, instance.failures + 1, env.clock.now() + holdMs, attempt))) return
    this.log(attempt, fault, delayMs)
    wake()
    this.pullForward(attempt, instance, failedAt + delayMs, failedAt + holdMs)
  }

  /**
   * Gives a call back that failed because of the server's own storage: that is no failure of the operation, so its
   * retries do not count it. A caller who waits for a sync call is told instead, and can send it again.
   */
  async afterStorageFailure(attempt: Attempt, instance: Instance): Promise<boolean> {
    const { env, conclusions, wake } = this.#parts
    const { storageFault, stoppedBy } = attempt
    if (!storageFault || stoppedBy || instance.model !== 'async' || !canGoOn(instance)) return false
    const delayMs = storageDelay(instance.attempt, env.random)
    if (attempt.now() + delayMs >= lastAt(instance, attempt)) return false
    const { operation, requestId } = instance
    env.log.warn({ operation, requestId, err: storageFault }, 'the storage failed a call; it is run again')
    await conclusions.giveBack(instance, env.clock.now() + delayMs)
    wake()
    return true
  }

  /** In how long the next attempt may begin if this one's handler does not return; the end of the call's own time counts. */
  holdMs(attempt: Attempt, delayMs: number, deadlineAt = Number.POSITIVE_INFINITY): number {
    if (attempt.returned) return delayMs
    return Math.max(delayMs, Math.ceil(Math.min(this.#parts.stopGraceMs, deadlineAt - attempt.now())))
  }

  /** Makes a call that is held up due as soon as the handler has returned. Both times are the attempt's. */
  pullForward(attempt: Attempt, { id, attempt: number }: Instance, dueAt: number, heldUntil: number): void {
    if (heldUntil <= dueAt) return
    const { env, conclusions, stopped, wake } = this.#parts
    attempt.whenReturned(() => {
      const at = Math.max(dueAt, attempt.now())
      if (at >= heldUntil || stopped()) return
      conclusions
        .makeDue(id, number, at + attempt.wallSetMs)
        .then(wake, (err) => env.log.warn({ err }, 'could not pull a retry forward; it begins when the grace is over'))
    })
  }

  /** The caller hears only of the last attempt: the earlier ones are in the log. */
  log({ job, number }: Attempt, { kind, code, message }: FaultRecord, retryInMs: number): void {
    this.#parts.env.log.warn(
      { operation: job.operation.key, requestId: job.requestId, attempt: number, kind, code, message, retryInMs },
      'an attempt failed; the call is tried again',
    )
  }
}

/** A try that comes when nobody can see the call any more is none. */
export function lastAt({ expiresAt }: Instance, { run }: Attempt): number {
  return Math.min(run.deadlineAt ?? Number.POSITIVE_INFINITY, expiresAt)
}
