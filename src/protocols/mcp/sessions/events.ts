/** Notifications and then the answer, as server-sent events. */
import type { Fault } from '../../../core/fault.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { encodeComment, encodeEvent, HEARTBEAT, orHeartbeat } from '../../../wire/http/event-stream.ts'
import { encodeError } from '../faults.ts'
import { encodeErrorResponse, encodeResult } from '../rpc.ts'
import type { RequestId, RpcMessage } from '../wire.ts'

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
        yield HEARTBEAT
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
    yield encodeComment('listening')
    for (;;) {
      const step = await orHeartbeat(next, clock)
      if (!step) yield HEARTBEAT
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
  return encodeEvent('message', data)
}
