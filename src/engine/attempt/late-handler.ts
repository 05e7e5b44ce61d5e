/**
 * A handler that still runs after its attempt has ended, because it ignores its signal or cleans up slowly. Its result
 * is ignored. The log says that it runs, and when and how it returned.
 */

import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Attempt } from './attempt.ts'
import type { Ending } from './ending.ts'

/** A handler that obeys its signal has returned by then, and needs no log line. */
const HEEDED_MS = 100

export class LateHandler {
  readonly #env: Environment
  readonly #fields: object
  readonly #endedAt: number
  readonly #cancelWarning: () => void
  #warned = false
  #thrown: unknown

  constructor({ job, number }: Attempt, ending: Ending, env: Environment) {
    const outcome = ending.kind === 'fault' ? ending.fault.kind : ending.kind
    this.#env = env
    this.#fields = { operation: job.operation.key, requestId: job.requestId, attempt: number, outcome }
    this.#endedAt = env.clock.monotonicMs()
    this.#cancelWarning = env.clock.schedule(HEEDED_MS, () => {
      this.#warned = true
      env.log.warn(this.#fields, 'the attempt has ended but its handler still runs; it keeps its slot until it returns')
    })
  }

  threw(thrown: unknown): void {
    this.#thrown = thrown
  }

  returned({ kind }: Ending): void {
    this.#cancelWarning()
    const { clock, log } = this.#env
    const fields = { ...this.#fields, lateMs: clock.monotonicMs() - this.#endedAt }
    if (kind === 'fault') this.#logFailure(fields)
    else log.info(fields, 'the handler returned after its attempt had ended; its result is dropped')
  }

  #logFailure(fields: object): void {
    const { log } = this.#env
    const thrown = this.#thrown
    const failure = thrown instanceof Fault ? { kind: thrown.kind, code: thrown.code, err: thrown } : { err: thrown }
    const level = this.#warned ? 'info' : 'debug'
    log[level]({ ...fields, ...failure }, 'the handler failed after its attempt had ended')
  }
}
