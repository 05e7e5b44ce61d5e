/**
 * Runs a call on a backend as a worker would: attempt after attempt, with retries and waits, on a manual clock. Leases
 * and records are left out. A wait ends at once and advances the clock.
 */
import { randomUUID } from 'node:crypto'
import { ANONYMOUS } from '../../../core/call/caller.ts'
import type { Outcome } from '../../../core/call/instance.ts'
import type { JsonValue } from '../../../core/json.ts'
import { completeOperation } from '../../../core/operation/defaults.ts'
import { operation } from '../../../core/operation/define.ts'
import type { OperationRules } from '../../../core/operation/rules.ts'
import type { Backend } from '../../../core/ports/backend.ts'
import { within } from '../../../core/within.ts'
import { Attempt } from '../../../engine/attempt/attempt.ts'
import { AttemptContext } from '../../../engine/attempt/attempt-context.ts'
import type { AttemptParts, Job } from '../../../engine/attempt/job.ts'
import { canceled } from '../../../engine/end/end-faults.ts'
import { prepareSchemas } from '../../../schemas/index.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import { createMemoryObjects } from '../../fakes/memory-objects.ts'
import { createRunEnvironment } from '../../run-operation/run-environment.ts'
import { noFetcher } from '../../run-operation/run-media.ts'

/** How long a backend that outlives its attempt delays the next attempt. */
const STOP_GRACE_MS = 1_000

export class BackendRun {
  readonly #backend: Backend
  readonly #clock: ManualClock
  readonly #job: Job
  readonly #parts: AttemptParts
  readonly outcome: Promise<Outcome>
  #attempt: Attempt | undefined
  #canceled = false
  #waiting: JsonValue | undefined

  constructor(backend: Backend, clock: ManualClock, args: unknown, rules: OperationRules = {}) {
    this.#backend = backend
    this.#clock = clock
    this.#job = jobFor(backend, rules)
    this.#parts = {
      env: createRunEnvironment([], clock),
      objects: createMemoryObjects(),
      fetcher: noFetcher,
      callChild: () => Promise.reject(new Error('a backend calls no other operation')),
      chunkBytes: 1_024,
      maxObjectBytes: 1_024,
      stopGraceMs: STOP_GRACE_MS,
    }
    this.outcome = this.#run(args)
  }

  cancel(): void {
    this.#canceled = true
    this.#attempt?.stop(canceled())
  }

  async #run(args: unknown): Promise<Outcome> {
    const { attempts } = this.#job.operation.retry
    let failures = 0
    let endsAt: number | undefined
    for (let number = 1; ; number++) {
      const attempt = this.#begin(number, failures, endsAt)
      if (this.#canceled) attempt.refuse(canceled())
      else attempt.start(args)
      endsAt = attempt.endsAt
      const ending = await attempt.done
      if (ending.kind === 'deferred') {
        this.#waiting = ending.deferred.waiting
        this.#clock.advance(ending.deferred.resumeInMs)
        continue
      }
      if (!attempt.began) await this.#abandon(attempt)
      this.#waiting = undefined
      if (ending.kind !== 'fault' || !ending.fault.retryable || ++failures >= attempts) return ending
      await within(this.#clock, STOP_GRACE_MS, new Promise<void>((resolve) => attempt.whenReturned(resolve)))
      endsAt = undefined
    }
  }

  #begin(number: number, failures: number, endsAt: number | undefined): Attempt {
    const waiting = this.#waiting
    this.#attempt = new Attempt(this.#job, number, this.#parts, {
      failures,
      ...(endsAt !== undefined && { endsAt }),
      ...(waiting !== undefined && { waiting }),
      expectAnswer: async (announced) => {
        this.#waiting = announced
      },
    })
    return this.#attempt
  }

  /** For a call that ended while no attempt ran. A running attempt learns of it from its signal. */
  async #abandon(attempt: Attempt): Promise<void> {
    if (this.#waiting === undefined) return
    await this.#backend.abandon?.(this.#waiting, new AttemptContext(attempt, this.#parts))
  }
}

function jobFor(backend: Backend, rules: OperationRules): Job {
  const definition = operation('v1:suite.run', { ...rules, backend: { kind: backend.kind } } as never)
  return {
    id: randomUUID(),
    operation: completeOperation(definition, prepareSchemas(definition), backend),
    caller: ANONYMOUS,
    requestId: randomUUID(),
    media: [],
    lineage: [],
  }
}
