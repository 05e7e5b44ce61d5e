/**
 * Decides what follows the end of an attempt: the call ends, is tried again, waits for a callback or for answers, or is
 * given back for another node.
 */

import type { Outcome } from '../../core/call/instance.ts'
import { questionsIn } from '../../core/call/questions.ts'
import type { Deferred } from '../../core/operation/returned.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Ending } from '../attempt/ending.ts'
import type { AttemptParts } from '../attempt/job.ts'
import type { Conclusions } from '../end/conclusions.ts'
import type { Limits } from '../limits/limits.ts'
import { abandon } from '../wait/abandon.ts'
import type { AwaitedCalls } from './awaited-calls.ts'
import type { CallEnds } from './call-ends.ts'
import { lastAt, type Retries } from './retries.ts'
import { retryDelay } from './retry.ts'
import { canWaitForAnswers, isLacking, mayHaveActed, type Running } from './running.ts'
import type { RunningCalls } from './running-calls.ts'

export interface SettlingParts {
  attempts: AttemptParts
  store: Store
  limits: Limits
  conclusions: Conclusions
  running: RunningCalls
  awaited: AwaitedCalls
  ends: CallEnds
  retries: Retries
  wake(): void
  wakeOthers(): void
}

type Failure = Extract<Outcome, { kind: 'fault' }>

export class Settling {
  readonly #parts: SettlingParts

  constructor(parts: SettlingParts) {
    this.#parts = parts
  }

  /** This path avoids promises: five async functions in a row took 5 % of a durable call. */
  ended(running: Running, ending: Ending, progressWritten?: Promise<void>): void {
    const { attempts, limits, running: table } = this.#parts
    const failed = (err: unknown) => {
      table.leave(running)
      attempts.env.log.error({ operation: running.operation.key, err }, 'could not process the end of an attempt')
    }
    running.concluding = true
    try {
      const { attempt, operation, instance } = running
      // The handler keeps its slot until it returns, even if the call has ended.
      if (attempt.returned) limits.ended(operation, instance)
      else attempt.whenReturned(() => limits.ended(operation, instance))
      // The last progress report must be visible before the end.
      const settling = progressWritten
        ? progressWritten.then(() => this.#settle(running, ending))
        : this.#settle(running, ending)
      settling.then(() => this.#left(running, ending), failed)
    } catch (err) {
      failed(err)
    }
  }

  #left(running: Running, ending: Ending): void {
    const { running: table, attempts } = this.#parts
    table.leave(running)
    // The reader learns of the end after it is stored.
    if (running.operation.stream && ending.kind !== 'deferred') attempts.streams?.ended(running.instance.id, ending)
  }

  #settle(running: Running, ending: Ending): Promise<void> {
    if (ending.kind === 'deferred') return this.#leaveWaiting(running, ending.deferred)
    if (ending.kind !== 'fault') return this.#conclude(running, ending)
    if (this.#parts.running.wasCutOff(running)) return this.#handOver(running)
    return this.#failed(running, ending)
  }

  /** This node stops. The others need not wait for the lease. */
  async #handOver({ instance, attempt }: Running): Promise<void> {
    const { conclusions } = this.#parts
    await (attempt.began ? conclusions.handOver(instance) : conclusions.giveBackUnbegun(instance))
    this.#parts.wakeOthers()
  }

  async #leaveWaiting({ instance, attempt }: Running, deferred: Deferred): Promise<void> {
    await this.#parts.conclusions.leaveWaiting(instance, deferred, attempt)
    this.#parts.wake()
  }

  async #failed(running: Running, outcome: Failure): Promise<void> {
    const { attempts, conclusions, awaited, retries, wake } = this.#parts
    const { instance, operation, attempt } = running
    if (await this.#wasAnswered(running)) {
      await conclusions.giveBack(instance)
      wake()
      return
    }
    if (!attempt.began) abandon(attempts, instance, operation)
    const questions = questionsIn(outcome.fault)
    // A caller that waits for the outcome gets the questions, and sends the call again with the answers.
    if (questions && !awaited.isAwaited(instance.id) && canWaitForAnswers(instance, questions)) {
      await conclusions.leaveAsking(instance, questions, attempt)
      wake()
      return
    }
    if (await retries.afterStorageFailure(attempt, instance)) return
    const failures = instance.failures + 1
    const delayMs = retryDelay(attempt.terms.retry, failures, outcome.fault, attempts.env.random)
    // Both times are on the attempt's clock, so setting the wall clock does not matter.
    if (delayMs === undefined || attempt.now() + delayMs >= lastAt(instance, attempt))
      return this.#conclude(running, outcome)
    await retries.schedule(attempt, instance, outcome.fault, delayMs)
  }

  #conclude(running: Running, outcome: Outcome): Promise<void> {
    const { instance, operation, attempt } = running
    const acted = mayHaveActed(running, outcome)
    const unbegun = !acted && outcome.kind === 'fault' && isLacking(outcome)
    const told = unbegun ? { ...outcome, unbegun } : sayingObjects(outcome, attempt)
    return this.#parts.ends.end(instance, operation, told, acted, attempt.traceparent)
  }

  /** True if a callback has come that this attempt did not have. It counts, however the attempt ended. */
  async #wasAnswered({ instance, attempt }: Running): Promise<boolean> {
    if (instance.waiting === undefined || attempt.run.answer !== undefined) return false
    if (attempt.stoppedBy?.kind === 'canceled') return false
    return (await this.#parts.store.get(instance.id))?.answer !== undefined
  }
}

/** Stores ask only for the removal of objects that a call may have. */
function sayingObjects(outcome: Outcome, { storedObjects }: Attempt): Outcome {
  if (!storedObjects || outcome.kind !== 'result') return outcome
  return { kind: 'result', objects: true, value: outcome.value }
}
