/**
 * What an HTTP-shaped protocol sees of a request and how it answers: neutral, so that the same routes run on
 * node:http, on Fetch and on HTTP/3, and small, because building objects per request is what costs.
 */
import type { Fault } from '../fault.ts'

export interface Exchange {
  readonly method: string
  /** As sent, still percent-encoded, without the query. */
  readonly path: string
  /** Without the question mark; empty if there is none. */
  readonly query: string
  /** `http://host:port` as the caller reached us, for absolute URIs. */
  readonly origin: string
  /** Lower-case name. */
  header(name: string): string | undefined
  /** All of them, for whoever hands the request on. */
  headers(): Iterable<readonly [name: string, value: string]>
  /** Aborts when the client goes away before it was answered. Made on first use. */
  readonly signal: AbortSignal
  /** The whole body as text, at once where it is all there, or a fault: `malformed` past the limit or if it breaks off. Not UTF-8 is a fault, too. */
  text(maxBytes: number): string | Promise<string>
  /** The parts of a multipart/form-data body in the order sent; each must be read before the next is asked for. */
  parts(limits: PartLimits): AsyncIterable<Part>
}

export interface PartLimits {
  maxParts: number
  maxHeaderBytes: number
  /** The part that is read as one text: it has as long to arrive as a body that is. */
  textPart?: string
}

export interface Part {
  readonly name: string
  readonly mimeType: string
  /** Whether the part says so itself; without a type it counts as `text/plain`. */
  readonly statesType: boolean
  readonly filename?: string
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface Answer {
  status: number
  headers: Record<string, string>
  /** A string is sent as UTF-8; an iterable is sent as it comes, with back-pressure, and returned early if the client leaves. */
  body?: string | Uint8Array | AsyncIterable<Uint8Array | string>
}

export type Handle = (exchange: Exchange, params: Readonly<Record<string, string>>) => Answer | Promise<Answer>

/** A path such as `/ops/{id}/chunks`; a `{name}` matches one segment, which arrives percent-decoded. */
export interface Route {
  readonly path: string
  readonly methods: Readonly<Partial<Record<HttpMethod, Handle>>>
  /** How this protocol words a failure that no handler saw: a method it has not, a body that breaks, a bug. */
  readonly refuse: Refuse
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'

export type Refuse = (exchange: Exchange, why: Refusal) => Answer

export type Refusal = { kind: 'fault'; fault: Fault } | { kind: 'method'; allow: readonly string[] } | { kind: 'path' }
