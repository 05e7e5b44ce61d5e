/**
 * Requests that a client calls off: the call that such a request has started is stopped, whether it is recorded or not.
 * A call that it only joined by an idempotency key belongs to the request that started it, and goes on.
 */

import { ANONYMOUS } from '../../../core/caller.ts'
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
   * From now on, and at once if the request is called off already. Nobody has to end the watch: a request that was
   * answered cannot be called off, but `isAnswered` says so for carriers whose signal goes on.
   */
  watch({ client, caller = ANONYMOUS }: Asked, requestId: string, isAnswered: () => boolean = never): void {
    const { calledOff } = client
    if (!calledOff) return
    const stop = () => {
      if (isAnswered()) return
      this.#calls.callOff(caller, requestId).catch((err: unknown) => {
        // It has expired, or was not written down yet: then its record will find the request called off.
        if (err instanceof Fault && err.kind === 'not-found') return
        this.#env.log.warn({ err, requestId }, 'could not stop a call whose request was called off')
      })
    }
    if (calledOff.aborted) stop()
    else calledOff.addEventListener('abort', stop, { once: true })
  }
}

function never(): boolean {
  return false
}
