/**
 * Schedules the next attempt of a failed call. A handler that still runs after its attempt has ended delays the next
 * attempt until it returns or the grace is over, so that two attempts of one call rarely overlap.
 */

import type { Instance } from '../../core/call/instance.ts'
import type { FaultRecord } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Conclusions } from '../end/conclusions.ts'
import { storageDelay } from './retry.ts'
import { canGoOn } from './running.ts'

export interface RetriesParts {
  env: Environment
  stopGraceMs: number
  conclusions: Conclusions
  /** True if this node claims no more calls. */
  stopped(): boolean
  wake(): void
}

export class Retries {
  readonly #parts: RetriesParts

  constructor(parts: RetriesParts) {
    this.#parts = parts
  }

  /**
   * Ends a try of a recorded call. The time of the next try is stored at once, so that any node can run it if this one
   * dies.
   */
  async schedule(attempt: Attempt, instance: Instance, fault: FaultRecord, delayMs: number): Promise<void> {
    const { env, conclusions, wake } = this.#parts
    const failedAt = attempt.now()
    const holdMs = this.holdMs(attempt, delayMs, attempt.run.deadlineAt)
    if (!(await conclusions.retryLater(instance, fault, env.clock.now() + holdMs, attempt))) return
    this.log(attempt, fault, delayMs)
    wake()
    this.pullForward(attempt, instance, failedAt + delayMs, failedAt + holdMs)
  }

  /**
   * Gives back a call that failed because of the server's own storage. This is not a failure of the operation, so it
   * does not count as a try. A caller that waits for a sync call gets the fault instead, and can send the call again.
   */
  async afterStorageFailure(attempt: Attempt, instance: Instance): Promise<boolean> {
    const { env, conclusions, wake } = this.#parts
    const { storageFault, stoppedBy } = attempt
    if (!storageFault || stoppedBy || instance.model !== 'async' || !canGoOn(instance)) return false
    const delayMs = storageDelay(instance.attempt, env.random)
    if (attempt.now() + delayMs >= lastAt(instance, attempt)) return false
    const { operation, requestId } = instance
    env.log.warn({ operation, requestId, err: storageFault }, 'a call failed because of the storage; it runs again')
    await conclusions.giveBackLater(instance, storageFault, env.clock.now() + delayMs)
    wake()
    return true
  }

  /** The delay before the next attempt if the handler of this one does not return. The call's deadline limits it. */
  holdMs(attempt: Attempt, delayMs: number, deadlineAt = Number.POSITIVE_INFINITY): number {
    if (attempt.returned) return delayMs
    return Math.max(delayMs, Math.ceil(Math.min(this.#parts.stopGraceMs, deadlineAt - attempt.now())))
  }

  /** Makes a delayed call due as soon as the handler has returned. Both times are on the attempt's clock. */
  pullForward(attempt: Attempt, { id, attempt: number }: Instance, dueAt: number, heldUntil: number): void {
    if (heldUntil <= dueAt) return
    const { env, conclusions, stopped, wake } = this.#parts
    attempt.whenReturned(() => {
      const at = Math.max(dueAt, attempt.now())
      if (at >= heldUntil || stopped()) return
      conclusions
        .makeDue(id, number, at + attempt.wallSetMs)
        .then(wake, (err) => env.log.warn({ err }, 'could not start a retry earlier; it starts when the grace is over'))
    })
  }

  /** The caller sees only the last attempt. The log has the earlier ones. */
  log({ job, number }: Attempt, { kind, code, message }: FaultRecord, retryInMs: number): void {
    this.#parts.env.log.warn(
      { operation: job.operation.key, requestId: job.requestId, attempt: number, kind, code, message, retryInMs },
      'an attempt failed; the call will be tried again',
    )
  }
}

/** The latest time for another try. After the expiry no caller can see the call. */
export function lastAt({ expiresAt }: Instance, { run }: Attempt): number {
  return Math.min(run.deadlineAt ?? Number.POSITIVE_INFINITY, expiresAt)
}
