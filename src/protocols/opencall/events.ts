/** A call's changes as server-sent events: `state` when the state changes, `progress` in between. */

import type { Clock } from '../../core/ports/runtime.ts'
import type { Reply } from '../../core/reply.ts'
import type { ResponseEnvelope } from './wire.ts'

/** Comments this often keep proxies from taking a quiet connection for a dead one. */
const HEARTBEAT_MS = 15_000

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
        yield ': still here\n\n'
        continue
      }
      if (step.done) return
      const envelope = encode(step.value)
      yield `event: ${envelope.state === state ? 'progress' : 'state'}\ndata: ${JSON.stringify(envelope)}\n\n`
      state = envelope.state
      next = replies.next()
    }
  } finally {
    await replies.return?.()
  }
}

function orHeartbeat<T>(next: Promise<T>, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(HEARTBEAT_MS, () => resolve(undefined))
    next.then((step) => {
      cancel()
      resolve(step)
    }, reject)
  })
}
