/** Reads the frames of a stream as server-sent events, with the ticket of the reply. */
import { Fault } from '../../core/fault.ts'
import { EventDecoder, isEventStream } from '../../wire/http/event-stream.ts'
import { type Envelope, type Remote, readBody, type StreamPlace } from './remote.ts'

/** The largest frame that is read. */
const MAX_EVENT = 64 * 1024 * 1024

/** Calls `show` with the text of each frame. Returns the last event: how the stream ended. */
export async function readFrames(
  remote: Remote,
  { location, transport, auth }: StreamPlace,
  show: (frame: string) => void,
): Promise<Pick<Envelope, 'state' | 'error'>> {
  if (!/^wss?:/i.test(location)) throw notHere(transport)
  const credential: Record<string, string> = auth?.credential ? { Authorization: `OTK ${auth.credential}` } : {}
  const response = await remote.fetch(location.replace(/^ws/i, 'http'), {
    headers: { Accept: 'text/event-stream', ...credential },
  })
  if (response.status !== 200 || !isEventStream(response.headers.get('content-type')) || !response.body) {
    await response.body?.cancel()
    throw new Fault('upstream', `The stream cannot be read: the server responded with ${response.status}.`, {
      code: 'STREAM_REFUSED',
    })
  }
  const decoder = new EventDecoder({ maxLength: MAX_EVENT })
  for await (const piece of readBody(response.body, remote)) {
    for (const { event, data } of decoder.push(piece)) {
      if (event === 'end') return JSON.parse(data)
      if (event === 'frame') show(data)
    }
  }
  throw new Fault('upstream', 'The connection broke before the stream ended. Call it again.', { code: 'STREAM_BROKEN' })
}

function notHere(transport: string): Fault {
  const message = `The frames of this stream are sent over ${transport}. To see them here, add "transport": "wss" to the arguments.`
  return new Fault('upstream', message, { code: 'STREAM_TRANSPORT' })
}
