/** Encodes notifications and then the result as server-sent events. */
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

/** Encodes a stream that has only notifications and no result. */
export async function* encodeNotifications(
  stream: AsyncGenerator<RpcMessage, void>,
  clock: Clock,
): AsyncIterable<string> {
  let next = stream.next()
  try {
    // The headers are sent with the first bytes, and clients wait for the headers.
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
