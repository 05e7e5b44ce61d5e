/**
 * Cancels the call of a request when the client cancels the request. A call that the request only joined by an
 * idempotency key belongs to the request that started it, and continues.
 */

import { ANONYMOUS } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import type { Calls } from '../../../core/ports/calls.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Asked } from '../asking/asked.ts'

export class CallingOff {
  readonly #calls: Pick<Calls, 'callOff'>
  readonly #env: Pick<Environment, 'log'>

  constructor({ calls, env }: { calls: Pick<Calls, 'callOff'>; env: Pick<Environment, 'log'> }) {
    this.#calls = calls
    this.#env = env
  }

  /**
   * Cancels the call when the client cancels the request, or at once if it has already done so. The watch needs no end.
   * A request with a response cannot be canceled: `isAnswered` prevents it for carriers whose signal may still abort.
   */
  watch({ client, caller = ANONYMOUS }: Asked, requestId: string, isAnswered: () => boolean = never): void {
    const { calledOff } = client
    if (!calledOff) return
    const stop = () => {
      if (isAnswered()) return
      this.#calls.callOff(caller, requestId).catch((err: unknown) => {
        // The call has expired, or is not stored yet. In the second case it is canceled once it is stored.
        if (err instanceof Fault && err.kind === 'not-found') return
        this.#env.log.warn({ err, requestId }, 'could not cancel the call of a canceled request')
      })
    }
    if (calledOff.aborted) stop()
    else calledOff.addEventListener('abort', stop, { once: true })
  }
}

function never(): boolean {
  return false
}
