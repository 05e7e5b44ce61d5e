/** The changes of a call as server-sent events. Ends where the connection does: the client then polls. */
import { EventReader, isEventStream } from '../../wire/http/event-reader.ts'
import { bytesOf } from '../http/body.ts'
import { isEnvelope } from '../http/envelope.ts'
import { isLost, isOver } from '../judge.ts'
import type { Envelope } from '../options.ts'
import type { Fetcher } from '../transport.ts'
import { MAX_EVENT, tooLong } from './events.ts'

export async function* watchCall(
  fetcher: Fetcher,
  requestId: string,
  signal: AbortSignal | undefined,
): AsyncIterable<Envelope> {
  const address = new URL(`${fetcher.base}/ops/${encodeURIComponent(requestId)}/events`)
  try {
    const response = await fetcher.fetch(address, { headers: { accept: 'text/event-stream' }, signal })
    if (!response.ok || !isEventStream(response.headers.get('content-type'))) return void response.body?.cancel()
    const reader = new EventReader({ maxLength: MAX_EVENT, tooLong })
    for await (const piece of bytesOf(response, signal)) {
      for (const { data } of reader.push(piece)) {
        const envelope: unknown = JSON.parse(data)
        if (!isEnvelope(envelope)) return
        yield envelope
        if (isOver(envelope)) return
      }
    }
  } catch (thrown) {
    if (!isLost(thrown) && !(thrown instanceof SyntaxError)) throw thrown
  }
}
