/** Reads the frames of a stream over the transport that the reply names: a WebSocket, or server-sent events. */
import { Fault } from '../../core/fault.ts'
import { EventDecoder, isEventStream } from '../../wire/http/event-stream.ts'
import { type Envelope, type Remote, readBody, type StreamPlace } from './remote.ts'
import { readSocket } from './stream-socket.ts'

/** The largest frame that is read. */
const MAX_EVENT = 64 * 1024 * 1024

export type StreamEnd = Pick<Envelope, 'state' | 'error'>

/** Calls `show` with the text of each frame. Returns how the stream ended. */
export async function readFrames(
  remote: Remote,
  requestId: string,
  stream: StreamPlace,
  show: (frame: string) => void,
): Promise<StreamEnd> {
  const { location, transport } = stream
  if (transport === 'sse') return readEvents(remote, location, stream, show)
  if (transport !== 'wss') throw notHere(transport)
  const closed = await readSocket(remote, stream, show)
  switch (closed) {
    case 'complete':
      return { state: 'complete' }
    case 'error':
      return (await remote.ask(`/ops/${encodeURIComponent(requestId)}`)).envelope
    case 'unopened':
      // A proxy may not pass WebSockets on. Else the response says what is wrong.
      return readEvents(remote, location.replace(/^ws/i, 'http'), stream, show)
    case 'broken':
      throw broken()
  }
}

async function readEvents(
  remote: Remote,
  location: string,
  stream: StreamPlace,
  show: (frame: string) => void,
): Promise<StreamEnd> {
  const response = await remote.fetch(location, {
    headers: { Accept: 'text/event-stream', ...remote.streamCredential(stream) },
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
  throw broken()
}

function broken(): Fault {
  return new Fault('upstream', 'The connection broke before the stream ended. Call it again.', {
    code: 'STREAM_BROKEN',
  })
}

function notHere(transport: string): Fault {
  const message = `The frames of this stream are sent over ${transport}. To see them here, add "transport": ["wss", "sse"] to the arguments.`
  return new Fault('upstream', message, { code: 'STREAM_TRANSPORT' })
}
