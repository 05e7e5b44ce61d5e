/**
 * An HTTP request and its response, as an HTTP-shaped protocol sees them. The types are neutral, so that the same
 * routes run on node:http, on Fetch and on HTTP/3. They are small, because building objects for each request is
 * expensive.
 */
import type { Fault } from '../fault.ts'

export interface Exchange {
  readonly method: string
  /** As sent: percent-encoded, without the query. */
  readonly path: string
  /** Without the question mark. Empty if there is no query. */
  readonly query: string
  /** `http://host:port` as the client reached the server, for absolute URIs. */
  readonly origin: string
  /** `name` is in lower case. */
  header(name: string): string | undefined
  /** All header fields, for handlers that forward the request. */
  headers(): Iterable<readonly [name: string, value: string]>
  /** Aborts when the client leaves before the response. Created on first use. */
  readonly signal: AbortSignal
  /**
   * The whole body as text, without a promise if it has arrived. Throws `malformed` if the body exceeds the limit or
   * ends early, and also a fault if it is not UTF-8.
   */
  text(maxBytes: number): string | Promise<string>
  /** The parts of a multipart/form-data body, in the order sent. Read each part before the next one. */
  parts(limits: PartLimits): AsyncIterable<Part>
}

export interface PartLimits {
  maxParts: number
  maxHeaderBytes: number
  /** The name of the part that is read as one text. The time limit for a text body applies to it. */
  textPart?: string
}

export interface Part {
  readonly name: string
  readonly mimeType: string
  /** True if the part states its type. A part without a type counts as `text/plain`. */
  readonly statesType: boolean
  readonly filename?: string
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface Answer {
  status: number
  headers: Record<string, string>
  /**
   * A string is sent as UTF-8. An iterable is sent piece by piece, with back-pressure, and is closed early if the
   * client leaves.
   */
  body?: string | Uint8Array | AsyncIterable<Uint8Array | string>
}

export type Handle = (exchange: Exchange, params: Readonly<Record<string, string>>) => Answer | Promise<Answer>

/**
 * A path such as `/ops/{id}/chunks`. A `{name}` matches one segment, which the handler receives percent-decoded. A `{name+}`
 * matches one or more, which the handler receives as sent: decoded, a slash in a segment would look like a separator.
 */
export interface Route {
  readonly path: string
  /** False for a path that fits the pattern but does not belong to this route. */
  readonly accepts?: (path: string) => boolean
  readonly methods: Readonly<Partial<Record<HttpMethod, Handle>>>
  /** Builds the response for a failure outside the handlers: an unsupported method, a broken body, a bug. */
  readonly refuse: Refuse
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'

export type Refuse = (exchange: Exchange, why: Refusal) => Answer

export type Refusal = { kind: 'fault'; fault: Fault } | { kind: 'method'; allow: readonly string[] } | { kind: 'path' }
