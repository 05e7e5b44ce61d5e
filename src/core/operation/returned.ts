/** What a handler or backend may return: a value, the location of bytes, pieces of bytes, or a result that comes later. */

import type { ResultLocation } from '../call/instance.ts'
import type { JsonValue } from '../json.ts'

/** What `run` may return: a value, or the location of bytes. */
export type Returned<T> = T | Located

/** Recognised by a mark, for the same reason as `Fault`. */
const LOCATED = Symbol.for('callplane.located')

/** Made by `ctx.object(...)` and `ctx.location(...)`. */
export class Located {
  readonly [LOCATED] = true
  readonly location: ResultLocation
  constructor(location: ResultLocation) {
    this.location = location
  }

  static [Symbol.hasInstance](value: unknown): value is Located {
    return typeof value === 'object' && value !== null && LOCATED in value
  }
}

/** Returned by a backend instead of a result: the result comes later, by callback or by polling. */
export class Deferred {
  readonly waiting: JsonValue
  /** When to poll again. */
  readonly resumeInMs: number

  constructor(waiting: JsonValue, resumeInMs: number) {
    this.waiting = waiting
    this.resumeInMs = resumeInMs
  }
}

/** Pieces of a result. The return value of a generator is the value beside them. */
export type ChunkSource<T = unknown> = AsyncIterable<Piece, T, unknown> | Iterable<Piece, T, unknown>

type Piece = string | Uint8Array
const CHUNKED = Symbol.for('callplane.chunked')

export interface ChunkedOptions<T> {
  /** Needed if the operation does not declare one. */
  mimeType?: string
  /** A value beside the bytes. A function is called after the last piece. */
  value?: T | (() => T | Promise<T>)
}

/** Made by `ctx.chunks(...)`. */
export class Chunked<T = unknown> {
  readonly [CHUNKED] = true
  readonly source: ChunkSource
  readonly mimeType: string
  readonly value: ChunkedOptions<T>['value']

  constructor(source: ChunkSource, mimeType: string, value?: ChunkedOptions<T>['value']) {
    this.source = source
    this.mimeType = mimeType
    this.value = value
  }

  static [Symbol.hasInstance](value: unknown): value is Chunked {
    return typeof value === 'object' && value !== null && CHUNKED in value
  }
}
