/** Sends a handler's log messages before the result of its call. */

import type { Outcome } from '../asking/asked.ts'
import type { Hearing } from '../sessions/hearing.ts'
import type { RpcMessage } from '../wire.ts'

/** Later messages are dropped. */
export function withHeard(outcome: Outcome, heard: Hearing): Outcome {
  if ('stream' in outcome) return { stream: heardThrough(outcome.stream, heard) }
  const said = heard.take()
  heard.close()
  return said.length === 0 ? outcome : { stream: answeredAfter(said, outcome.result) }
}

async function* answeredAfter(said: readonly RpcMessage[], result: object): AsyncGenerator<RpcMessage, object> {
  yield* said
  return result
}

async function* heardThrough(
  stream: AsyncGenerator<RpcMessage, object>,
  heard: Hearing,
): AsyncGenerator<RpcMessage, object> {
  try {
    const result = yield* stream
    yield* heard.take()
    return result
  } finally {
    heard.close()
  }
}
