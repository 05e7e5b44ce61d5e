/** One request to run an operation, as a protocol hands it to the engine. */
import type { JsonValue } from '../json.ts'
import type { Asking } from './questions.ts'

/** One attachment of a call, wherever its bytes are. */
export interface MediaInput {
  name: string
  mimeType: string
  /** The caller's name for the file, without a path. */
  filename?: string
  source: MediaSource
}

export type MediaSource =
  /** Stored here, under this object id. */
  | { kind: 'object'; objectId: string; bytes: number; sha256: string }
  /** Stored elsewhere. Fetched through the guarded client when the handler reads it. */
  | { kind: 'ref'; uri: string; bytes?: number }

/** One request to run an operation. It holds no credential. */
export interface Call {
  /** As the caller wrote it, such as `v1:orders.getItem`. */
  operation: string
  args: JsonValue
  media: readonly MediaInput[]
  /** The id its attachments were stored under while the request was read; becomes the instance's id. */
  uploads?: string
  requestId: string
  sessionId?: string
  parentId?: string
  idempotencyKey?: string
  /** How long the caller waits for a direct response. */
  waitMs?: number
  locale?: string
  traceparent?: string
  /** Operations this call descends from, outermost first; set by the engine for child calls. */
  lineage?: readonly string[]
  /** The id of the call whose handler made this one; set by the engine for child calls. */
  calledBy?: string
  /** Limits the caller sets. The operation's own limits still apply. */
  terms?: CallTerms
  /** Absent where the protocol cannot put questions to the caller. */
  asking?: Asking
}

/** Limits of one call. They can be tighter than the operation's, never looser. */
export interface CallTerms {
  /** Limit of one attempt. */
  timeoutMs?: number
  /** Maximum number of attempts. */
  attempts?: number
  maxBackoffMs?: number
  /** Limit of all attempts together, including the waits between them. */
  deadlineMs?: number
}

/** Sets the optional fields that relate a call to others. Most calls have none, so each field is set on its own. */
export function correlate(made: Correlated, { sessionId, parentId, locale, traceparent }: Correlated): void {
  if (sessionId !== undefined) made.sessionId = sessionId
  if (parentId !== undefined) made.parentId = parentId
  if (locale !== undefined) made.locale = locale
  if (traceparent !== undefined) made.traceparent = traceparent
}

type Correlated = Pick<Call, 'sessionId' | 'parentId' | 'locale' | 'traceparent'>
