/** Encodes a call's changes as server-sent events: `state` when the state changes, otherwise `progress`. */

import type { Reply } from '../../../core/call/reply.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { encodeEvent, HEARTBEAT, orHeartbeat } from '../../../wire/http/event-stream.ts'
import type { ResponseEnvelope } from '../wire.ts'

export async function* encodeEvents(
  first: IteratorResult<Reply>,
  replies: AsyncIterator<Reply>,
  encode: (reply: Reply) => ResponseEnvelope,
  clock: Clock,
): AsyncIterable<string> {
  let state = ''
  try {
    let next = Promise.resolve(first)
    for (;;) {
      const step = await orHeartbeat(next, clock)
      if (!step) {
        yield HEARTBEAT
        continue
      }
      if (step.done) return
      const envelope = encode(step.value)
      yield encodeEvent(envelope.state === state ? 'progress' : 'state', JSON.stringify(envelope))
      state = envelope.state
      next = replies.next()
    }
  } finally {
    await replies.return?.()
  }
}
