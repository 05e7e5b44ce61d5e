/** Reads the frames of a stream over the transport that the reply names: a WebSocket, or server-sent events. */
import { Fault } from '../../core/fault.ts'
import { EventDecoder, isEventStream } from '../../wire/http/event-stream.ts'
import type { Envelope, Remote, StreamPlace } from './remote.ts'
import { readSocket } from './stream-socket.ts'

/** The largest frame that is read. */
const MAX_EVENT = 64 * 1024 * 1024

export type StreamEnd = Pick<Envelope, 'state' | 'error'>

export interface FrameSink {
  /** Called with the text of each frame, and with its number if it has one. */
  show(frame: string, seq?: number): void
  /** Resumes after the frame with this number, with the credential of the command. */
  readonly after?: number
  /** Ends the connection. The result is then `broken`. */
  readonly signal: AbortSignal
}

/** Returns how the stream ended. `broken`: its connection ended without an end. `refused`: it cannot be resumed. */
export async function readFrames(
  remote: Remote,
  requestId: string,
  stream: StreamPlace,
  sink: FrameSink,
): Promise<StreamEnd | 'broken' | 'refused'> {
  const { transport } = stream
  const place = placeOf(stream, sink.after)
  if (transport === 'sse') return readEvents(remote, place, sink)
  if (transport !== 'wss') throw notHere(transport)
  const closed = await readSocket(remote, place, sink)
  switch (closed) {
    case 'complete':
      return { state: 'complete' }
    case 'error':
      return (await remote.ask(`/ops/${encodeURIComponent(requestId)}`)).envelope
    case 'unopened':
      // A proxy may not pass WebSockets on. Else the response says what is wrong.
      return readEvents(remote, { ...place, location: place.location.replace(/^ws/i, 'http') }, sink)
    case 'broken':
      return 'broken'
  }
}

/** A key of the reply is used once, so a reader that resumes shows the credential of the call. */
function placeOf(stream: StreamPlace, after: number | undefined): StreamPlace {
  if (after === undefined) return stream
  const { auth: _, ...place } = stream
  const location = new URL(stream.location)
  location.searchParams.set('after', String(after))
  return { ...place, location: location.href }
}

async function readEvents(
  remote: Remote,
  stream: StreamPlace,
  { show, after, signal }: FrameSink,
): Promise<StreamEnd | 'broken' | 'refused'> {
  const headers = { Accept: 'text/event-stream', ...remote.streamCredential(stream) }
  const either = AbortSignal.any([remote.signal, signal])
  const response = await remote.fetch(stream.location, { headers }, either).catch((thrown: unknown) => {
    if (remote.interrupted || !signal.aborted) throw thrown
  })
  if (!response) return 'broken'
  if (response.status !== 200 || !isEventStream(response.headers.get('content-type')) || !response.body) {
    await response.body?.cancel()
    if (after !== undefined) return 'refused'
    throw new Fault('upstream', `The stream cannot be read: the server responded with ${response.status}.`, {
      code: 'STREAM_REFUSED',
    })
  }
  const decoder = new EventDecoder({ maxLength: MAX_EVENT })
  try {
    for await (const piece of response.body) {
      for (const { event, data, id } of decoder.push(piece)) {
        if (event === 'end') return JSON.parse(data)
        if (event === 'frame') show(data, stream.integrity && id ? Number(id) : undefined)
      }
    }
  } catch (thrown) {
    if (remote.interrupted || thrown instanceof Fault) throw thrown
  }
  return 'broken'
}

function notHere(transport: string): Fault {
  const message = `The frames of this stream are sent over ${transport}. To see them here, add "transport": ["wss", "sse"] to the arguments.`
  return new Fault('upstream', message, { code: 'STREAM_TRANSPORT' })
}
