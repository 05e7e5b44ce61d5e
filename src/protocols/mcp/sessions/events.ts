/** Notifications and then the answer, as server-sent events. */
import type { Fault } from '../../../core/fault.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { encodeError } from '../faults.ts'
import { encodeErrorResponse, encodeResult } from '../rpc.ts'
import type { RequestId, RpcMessage } from '../wire.ts'

/** Comments this often keep proxies from taking a quiet connection for a dead one. */
const HEARTBEAT_MS = 15_000

export async function* encodeEvents(
  id: RequestId,
  stream: AsyncGenerator<RpcMessage, object>,
  clock: Clock,
  explain: (thrown: unknown) => Fault,
): AsyncIterable<string> {
  let next = stream.next()
  try {
    for (;;) {
      const step = await orHeartbeat(next, clock)
      if (!step) {
        yield ': still here\n\n'
        continue
      }
      if (step.done) {
        yield event(encodeResult(id, step.value))
        return
      }
      yield event(JSON.stringify(step.value))
      next = stream.next()
    }
  } catch (thrown) {
    yield event(encodeErrorResponse(id, encodeError(explain(thrown))))
  } finally {
    await stream.return({})
  }
}

/** Nothing but notifications, until there are no more. */
export async function* encodeNotifications(
  stream: AsyncGenerator<RpcMessage, void>,
  clock: Clock,
): AsyncIterable<string> {
  let next = stream.next()
  try {
    // The headers leave with the first bytes, and a client waits for them.
    yield ': listening\n\n'
    for (;;) {
      const step = await orHeartbeat(next, clock)
      if (!step) yield ': still here\n\n'
      else if (step.done) return
      else {
        yield event(JSON.stringify(step.value))
        next = stream.next()
      }
    }
  } finally {
    await stream.return()
  }
}

function event(data: string): string {
  return `event: message\ndata: ${data}\n\n`
}

function orHeartbeat<T>(next: Promise<T>, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(HEARTBEAT_MS, () => resolve(undefined))
    next.then(
      (step) => {
        cancel()
        resolve(step)
      },
      (thrown: unknown) => {
        cancel()
        reject(thrown)
      },
    )
  })
}
