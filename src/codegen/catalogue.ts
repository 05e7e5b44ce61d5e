/**
 * The input of every target: what a server offers, as its registry document says. The document may come from any server, so
 * nothing in it is trusted. Operations are sorted by name and the keys of schemas by code unit: a registry in another
 * order gives the same catalogue.
 */
import type { JsonObject } from '../core/json.ts'

/** A JSON Schema of the dialect 2020-12. A boolean schema of the registry is `{}` or `{ not: {} }`. */
export type JsonSchema = JsonObject

export interface Catalogue {
  /** For people. */
  readonly title: string
  /** The version of the described interface. Default: the revision of OpenCALL that the server implements. */
  readonly version: string
  /** The address of the server without a slash at the end. Absent for a folder of operations. */
  readonly url?: string
  /** The revision of OpenCALL that the server implements. */
  readonly callVersion: string
  /** Sorted by name without the version, then by major version. */
  readonly operations: readonly CatalogueOperation[]
  /** What was left out and why, in sentences for people. */
  readonly problems: readonly string[]
}

export interface CatalogueOperation {
  /** `v1:orders.getItem` */
  readonly name: string
  /** `orders.getItem` */
  readonly lineage: string
  readonly major: number
  /** `orders`. Absent in `v1:getItem`. */
  readonly namespace?: string
  /** `getItem` */
  readonly base: string
  readonly title?: string
  readonly description?: string
  readonly model: 'sync' | 'async' | 'stream'
  readonly args: JsonSchema
  readonly result: JsonSchema
  /** Present if the model is `stream`. */
  readonly stream?: CatalogueStream
  /** The error codes of this operation, if the registry lists them. */
  readonly errors: readonly CatalogueError[]
  readonly media: readonly CatalogueMedia[]
  /** The result is bytes, which are fetched in pieces. */
  readonly chunked: boolean
  /** Sorted. */
  readonly scopes: readonly string[]
  readonly sideEffecting: boolean
  readonly idempotencyRequired: boolean
  readonly maxSyncMs?: number
  readonly ttlSeconds: number
  readonly cachingPolicy: string
  readonly deprecated?: { readonly sunset?: string; readonly replacement?: string }
}

export interface CatalogueStream {
  readonly frame: JsonSchema
  /** In order of preference. */
  readonly transports: readonly string[]
  /** In order of preference. */
  readonly encodings: readonly string[]
  /** A header with a number and a checksum is before every frame. */
  readonly integrity: boolean
  /** The frames as a protobuf message. */
  readonly proto?: string
}

export interface CatalogueMedia {
  readonly name: string
  readonly required: boolean
  readonly acceptedTypes: readonly string[]
  readonly maxBytes?: number
}

export interface CatalogueError {
  readonly code: string
  readonly description?: string
  readonly remedy?: string
  readonly retryable: boolean
}
