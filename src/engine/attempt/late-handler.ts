/**
 * A handler that goes on after its attempt has ended: it ignores its signal, or takes its time to clean up. Nothing of
 * what it does counts any more; the log says that it runs, and how and when it came back.
 */

import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Attempt, Ending } from './attempt.ts'

/** A handler that heeds its signal has returned by then, and is worth no line. */
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
      env.log.warn(this.#fields, 'the attempt has ended but its handler still runs; its slot is taken until it returns')
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
