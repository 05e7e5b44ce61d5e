/** The port of the ways that frames arrive: a WebSocket, server-sent events, WebRTC. */
import type { Envelope, StreamPlace } from '../options.ts'
import type { Fetcher } from '../transport.ts'

/** A frame as it arrived: text, or bytes. `seq` is known from the event, if not from a header in the bytes. */
export interface RawFrame {
  readonly data: string | Uint8Array<ArrayBuffer>
  readonly seq?: number | undefined
}

/** How a connection ended. `broken`: without an end of the stream. */
export interface ReaderEnd {
  readonly state: 'complete' | 'error' | 'broken'
  readonly error?: Envelope['error'] | undefined
  /** The server, or a proxy before it, did not open the connection. */
  readonly refused?: boolean
}

export interface Reading {
  readonly place: StreamPlace
  /** Resumes after the frame with this number, with the credential of the caller. */
  readonly after: number | undefined
  readonly signal: AbortSignal
  /** Resolves when there is room for the next frame. Throws if a reader that cannot wait is too far ahead. */
  push(frame: RawFrame): Promise<void>
}

export type ReadFrames = (fetcher: Fetcher, reading: Reading) => Promise<ReaderEnd>

/** The address of the frames. A key of the reply is used once, so a reader that resumes shows its own credential. */
export function frameAddress(fetcher: Fetcher, { place, after }: Reading): URL {
  const address = fetcher.resolve(place.location)
  if (after !== undefined) address.searchParams.set('after', String(after))
  return address
}
