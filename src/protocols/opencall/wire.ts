/** OpenCALL's wire types: request and response envelopes, chunks and registry entries. */

import type { State } from '../../core/call/state.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { PresentedAuth } from '../../core/ports/guard.ts'

/** The implemented revision of the specification. */
export const CALL_VERSION = '2026-02-10'

/** A parsed request envelope without unknown fields. `auth` is used only to identify the caller. */
export interface RequestEnvelope {
  op: string
  args: JsonObject
  media: readonly MediaEntry[]
  ctx: RequestContext
  auth?: PresentedAuth
  /** True if the caller used a form of the later revision. Its response then has `meta`. docs/readings.md#r40. */
  isLater?: true
}

export interface MediaEntry {
  name: string
  mimeType: string
  ref?: string
  part?: string
}

export interface RequestContext {
  requestId?: string
  sessionId?: string
  parentId?: string
  idempotencyKey?: string
  timeoutMs?: number
  locale?: string
  traceparent?: string
}

export interface ResponseEnvelope {
  requestId: string
  sessionId?: string
  state: State
  result?: JsonValue
  error?: ErrorBody
  location?: Location
  stream?: StreamBody
  expiresAt?: number
  retryAfterMs?: number
  meta?: Meta
  /** `attempt` is the number of the attempt. The fraction restarts with each attempt. */
  progress?: { fraction: number; message?: string; attempt?: number }
}

/** The later revision, "Invocation Response Envelope". */
export interface Meta {
  /** The name in the registry. */
  op: string
  /** From the receipt of the envelope to the response. */
  durationMs: number
}

/** Where a caller reads a stream. OpenCALL, "Invocation Response Envelope". */
export interface StreamBody {
  transport: string
  encoding: string
  /** The name of the frame schema. */
  schema: string
  /** An absolute URI. */
  location: string
  sessionId: string
  expiresAt: number
  /** A key that lets one reader connect, once. Absent: the caller's own credential. */
  auth?: { credentialType: 'otk'; credential: string; expiresAt: number }
  /** Our extension: the header before each frame. docs/readings.md#r32. */
  integrity?: { algorithm: 'crc32' | 'sha256'; seqBytes: 8 }
  /** Our extension: further facts of the transport, such as `webrtc` or `channel`. */
  [detail: string]: JsonValue | undefined
}

export interface ErrorBody {
  code: string
  message: string
  cause?: JsonObject
}

export interface Location {
  uri: string
  /** Our extension for chunked results: the type of the bytes, and a value that accompanies them. */
  mimeType?: string
  value?: JsonValue
  auth?: { credentialType: string; credential: string; expiresAt?: number }
}

export interface ChunkEnvelope {
  requestId: string
  sessionId?: string
  state: 'pending' | 'complete'
  /** Absent only if there is no chunk yet and the call has not set its type. */
  mimeType?: string
  cursor: string | null
  chunk?: { offset: number; length: number; checksum: string; checksumPrevious: string | null }
  total?: number
  encoding?: 'utf8' | 'base64'
  data?: string
  retryAfterMs?: number
}

export interface RegistryEntry {
  op: string
  title?: string
  description?: string
  argsSchema: JsonObject
  resultSchema: JsonObject
  mediaSchema?: { name: string; required: boolean; acceptedTypes: string[]; maxBytes: number }[]
  sideEffecting: boolean
  idempotencyRequired: boolean
  executionModel: 'sync' | 'async' | 'stream'
  maxSyncMs: number
  chunked: boolean
  ttlSeconds: number
  authScopes: string[]
  /** Only for streams. */
  frameSchema?: JsonObject
  supportedTransports?: string[]
  supportedEncodings?: string[]
  frameIntegrity?: boolean
  /** Our extension: the frames as a protobuf message. */
  frameProto?: string
  cachingPolicy: 'none' | 'server' | 'location'
  /** Our extension: the codes of the failures that callers should expect. */
  errors?: Record<string, { description: string; remedy?: string; retryable: boolean }>
  deprecated?: true
  sunset?: string
  replacement?: string
}

/** A removed operation. Listed if `listRemoved` is set. */
export interface TombstoneEntry {
  op: string
  deprecated: true
  sunset: string
  replacement?: string
  /** Our extension: calls of this operation get 410. */
  removed: true
}

/** A code in `/.well-known/errors`. The later revision, "Error Entry Fields". */
export interface ErrorEntry {
  code: string
  httpStatus: number
  /** Present if the status is that of a success. */
  state?: 'error'
  message: string
  /** Our extension: what the caller can do. */
  remedy?: string
  retryable: boolean
}
