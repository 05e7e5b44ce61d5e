/** What a program can set for a client and for one call. */
import type { JsonObject } from '../core/json.ts'
import type { Transport } from './transport.ts'

/** For every client, however its calls move. */
interface SharedOptions {
  /** The deadline of each call in milliseconds (default: none). */
  timeoutMs?: number
  /** How often a request is repeated after a lost connection or a refusal that asks for it (default: 3). */
  retries?: number
  /** Wraps every call, the first one outermost. */
  use?: readonly Middleware[]
  /** Told once about each deprecated operation (default: `console.warn`). */
  onWarning?: (warning: string) => void
}

/** Calls move as the transport says, which has the address and the token. */
export interface TransportOptions extends SharedOptions {
  transport: Transport
}

export type ClientOptions = HttpOptions | TransportOptions

/** Calls move over HTTP. */
export interface HttpOptions extends SharedOptions {
  /** The address of the server, with the path that it is mounted at. */
  url: string | URL
  /**
   * A bearer token, or a function that is asked before each request. After a 401 it is asked again with the refused
   * token, and the request is repeated if it returns another one.
   */
  token?: string | TokenSource
  /** Sent with every request to the server. */
  headers?: Readonly<Record<string, string>>
  /** Origins that get the token, too (default: the server's own origin only). */
  trustedOrigins?: readonly string[]
  /** The largest JSON response in bytes (default: 64 MiB). */
  maxResponseBytes?: number
  /** The `fetch` to use (default: the global one). */
  fetch?: typeof globalThis.fetch
  transport?: undefined
}

export type TokenSource = (refused?: string) => string | undefined | Promise<string | undefined>

export interface CallOptions<Media extends string = string> {
  signal?: AbortSignal
  /** The deadline of this call in milliseconds. */
  timeoutMs?: number
  /** Default: a new one for each call. Reuse one to repeat a call of an earlier run of the program. */
  idempotencyKey?: string
  /** Default: a new UUID. */
  requestId?: string
  sessionId?: string
  parentId?: string
  locale?: string
  traceparent?: string
  /** Files to send with the call, by the name of their slot. */
  media?: { readonly [Name in Media]?: MediaInput }
  /** Told how many bytes of the request are sent. */
  onUpload?: (progress: { sentBytes: number; totalBytes: number | undefined }) => void
}

/** A file, or the address of one that the server fetches. */
export type MediaInput =
  | Blob
  | { readonly data: Uint8Array | string; readonly type: string }
  | { readonly ref: string; readonly type: string }

/** One call as middleware sees it. Change `headers` or `context` to send more with it. */
export interface OutgoingCall {
  readonly operation: string
  readonly args: JsonObject
  readonly context: CallContext
  readonly headers: Record<string, string>
  readonly media?: Readonly<Record<string, MediaInput | undefined>> | undefined
  readonly onUpload?: CallOptions['onUpload'] | undefined
}

/** OpenCALL's `ctx`. */
export interface CallContext {
  requestId: string
  idempotencyKey?: string | undefined
  sessionId?: string | undefined
  /** How long the server may hold the request for the result. */
  timeoutMs?: number | undefined
  parentId?: string | undefined
  locale?: string | undefined
  traceparent?: string | undefined
}

/** Sees a call and the first response to it. It must call `next`, at most once. */
export type Middleware = (call: OutgoingCall, next: (call: OutgoingCall) => Promise<Envelope>) => Promise<Envelope>

/** A response envelope as it came. Only the fields that the client reads; all others are ignored. */
export interface Envelope {
  readonly requestId: string
  readonly state: string
  readonly sessionId?: string
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly cause?: JsonObject }
  readonly location?: ResultLocation
  readonly stream?: StreamPlace
  /** In seconds since 1970. */
  readonly expiresAt?: number
  readonly retryAfterMs?: number
  readonly progress?: Progress
}

export interface Progress {
  readonly fraction: number
  readonly message?: string
  readonly attempt?: number
}

export interface ResultLocation {
  readonly uri: string
  /** Present if the result is in chunks. */
  readonly mimeType?: string
  readonly value?: unknown
  readonly auth?: { readonly credentialType: string; readonly credential: string }
}

export interface StreamPlace {
  readonly transport: string
  readonly encoding: string
  readonly location: string
  readonly sessionId?: string
  /** In seconds since 1970. */
  readonly expiresAt?: number
  readonly auth?: { readonly credentialType?: string; readonly credential: string; readonly expiresAt?: number }
  /** Present if a header is before every frame. */
  readonly integrity?: { readonly algorithm: string }
  readonly [detail: string]: unknown
}
