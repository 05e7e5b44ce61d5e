/** OpenCALL's shapes on the wire: the request and response envelopes, chunks and registry entries. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { PresentedAuth } from '../../core/ports/guard.ts'
import type { State } from '../../core/state.ts'

/** The revision of the specification that is served. */
export const CALL_VERSION = '2026-02-10'

/** The request envelope once checked; unknown fields are left behind. `auth` goes to who tells callers, and no further. */
export interface RequestEnvelope {
  op: string
  args: JsonObject
  media: readonly MediaEntry[]
  ctx: RequestContext
  auth?: PresentedAuth
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
  expiresAt?: number
  retryAfterMs?: number
  /** `attempt` is the try it is of: from the next one on the fraction begins anew. */
  progress?: { fraction: number; message?: string; attempt?: number }
}

export interface ErrorBody {
  code: string
  message: string
  cause?: JsonObject
}

export interface Location {
  uri: string
  /** Of a chunked result, beside what the specification has: of which type it is, and the value beside the bytes. */
  mimeType?: string
  value?: JsonValue
  auth?: { credentialType: string; credential: string; expiresAt?: number }
}

export interface ChunkEnvelope {
  requestId: string
  sessionId?: string
  state: 'pending' | 'complete'
  /** Absent only where there is no chunk yet and the call has not said which it is. */
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
  executionModel: 'sync' | 'async'
  maxSyncMs: number
  chunked: boolean
  ttlSeconds: number
  authScopes: string[]
  cachingPolicy: 'none' | 'server' | 'location'
  deprecated?: true
  sunset?: string
  replacement?: string
}

/** An operation that is gone, where the registry lists those as well. */
export interface TombstoneEntry {
  op: string
  deprecated: true
  sunset: string
  replacement?: string
  /** Ours, besides what the text has: a call is answered 410. */
  removed: true
}
