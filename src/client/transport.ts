/** The port between a client and the way its calls move: HTTP, a WebSocket, MQTT, Kafka, or a server in the same process. */
import type { Envelope, OutgoingCall } from './options.ts'
import type { StreamWays } from './streams/ways.ts'

export interface Transport {
  /**
   * Sends a call, and resolves with the first response to it. It may be sent again with the same ids after a failure.
   * Rejects with a `CallFault`: `UNREACHABLE` if no response came.
   */
  send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received>
  /** Resolves with a later state of a call, or with the same state after a while. */
  next(before: Envelope, signal: AbortSignal | undefined): Promise<Received>
  /** Resolves with the state of a call now. */
  poll(requestId: string, signal: AbortSignal | undefined): Promise<Received>
  /** Asks the server to stop a call, and resolves with its state. */
  cancel(requestId: string, signal: AbortSignal | undefined): Promise<Received>
  /** Every change of a call until it ends or the connection does. Absent: the client asks with `next`. */
  watch?(requestId: string, signal: AbortSignal | undefined): AsyncIterable<Envelope>
  /** The server has nothing but bytes at an address: results, chunks, frames. Absent if the transport has no addresses. */
  readonly fetcher?: Fetcher
  /** How frames arrive. Absent: the ways of this runtime, over HTTP. */
  readonly ways?: StreamWays
  /** Aborts when the transport is closed. Absent if it ends its calls itself. */
  readonly closing?: AbortSignal | undefined
  close(): void
}

export interface Received {
  readonly envelope: Envelope
  /** The HTTP status, if there is one. */
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  /** Those of an HTTP response. */
  readonly headers?: Headers
}

export interface FetchInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: undefined | string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** Default: `manual`. */
  readonly redirect?: 'manual' | 'follow'
  /** Replaces the caller's token, as `location.auth` says. */
  readonly authorization?: string | undefined
}

/** Fetches results, with the caller's token where it may go. */
export interface Fetcher {
  /** The address of the server, without a slash at the end. */
  readonly base: string
  /** An address relative to the server's, as an absolute one. Throws `UNSAFE_LOCATION`. */
  resolve(uri: string): URL
  fetch(address: URL, init: FetchInit): Promise<Response>
  /** The caller's token, if the address may have it: for a WebSocket of a browser, which has no headers. */
  token(address: URL): Promise<string | undefined>
}
