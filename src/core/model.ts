/** The nouns every part shares: caller, call, instance, reply. Nothing here knows a protocol, a status code or SQL. */
import type { Fault, FaultRecord } from './fault.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Asking, Questions } from './questions.ts'
import type { State } from './state.ts'

export interface Caller {
  tenant: string
  issuer: string
  subject: string
  scopes: readonly string[]
  /** The one of the caller's own users whom a call acts for, where it says so; the caller vouches for it. */
  userId?: string
  /** Verified claims beyond those above, for policies. */
  claims?: JsonObject
}

export const ANONYMOUS: Caller = { tenant: 'main', issuer: 'none', subject: 'anonymous', scopes: [] }

/** Who owns an instance, as one text: what stores index and compare. */
export function ownerOf(caller: Caller): string {
  return `${caller.issuer}|${caller.subject}`
}

/** One attachment of a call, wherever its bytes are. */
export interface MediaInput {
  name: string
  mimeType: string
  /** As the caller's file is called, without a path. */
  filename?: string
  source: MediaSource
}

export type MediaSource =
  /** Already on our side, under this object id. */
  | { kind: 'object'; objectId: string; bytes: number; sha256: string }
  /** Somewhere else; fetched under guard when the handler reads it. */
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
  /** How long the caller would wait for a direct answer. */
  waitMs?: number
  locale?: string
  traceparent?: string
  /** Operations this call descends from, outermost first; set by the engine for child calls. */
  lineage?: readonly string[]
  /** What the caller asks for within the operation's own limits. */
  terms?: CallTerms
  /** Absent where the protocol cannot put questions to the caller. */
  asking?: Asking
}

/** Limits of one call. They can be tighter than the operation's, never looser. */
export interface CallTerms {
  /** Of one attempt. */
  timeoutMs?: number
  /** How often it may be started in all. */
  attempts?: number
  maxBackoffMs?: number
  /** Of all attempts together, the waits between them included. */
  deadlineMs?: number
}

/** A result that is not a value in the reply but bytes somewhere. */
export type ResultLocation =
  /** `value` stands beside the bytes. */
  | { kind: 'chunks'; mimeType: string; value?: JsonValue }
  | { kind: 'object'; objectId: string; mimeType: string; redirect: boolean }
  | { kind: 'external'; uri: string; auth?: LocationAuth; redirect: boolean }

export interface LocationAuth {
  credentialType: string
  credential: string
  expiresAtMs?: number
}

export type Outcome =
  | { kind: 'result'; value: JsonValue }
  | { kind: 'location'; location: ResultLocation }
  /** `unbegun`: it says what it lacks and has done nothing, so the same call may be sent again under the same ids. */
  | { kind: 'fault'; fault: FaultRecord; unbegun?: true }

export interface Progress {
  /** 0 to 1; it does not fall within one try. */
  fraction: number
  message?: string
  /** Which try it is of; 1 is the first. Absent before a call has begun. */
  attempt?: number
}

/** The stored life of a call. */
export interface Instance {
  id: string
  tenant: string
  owner: string
  caller: Caller
  requestId: string
  sessionId?: string
  parentId?: string
  /** Registry key: name and full version, `v1:orders.getItem@1.0.0`. */
  operation: string
  model: ExecutionModel
  args: JsonValue
  media: readonly MediaInput[]
  /** Only where it cannot be made from the rest: see `fingerprint.ts`. */
  fingerprint?: string
  idempotencyKey?: string
  lineage: readonly string[]
  locale?: string
  traceparent?: string
  state: State
  /** Grows with every stored change. */
  revision: number
  /** How often it was handed to a worker; 0 means that its handler never started. Fences late writers. */
  attempt: number
  /** How many of those attempts are accounted for: failed or handed back. Fewer than `attempt - 1` means one was cut off. */
  settled: number
  /** How many of them failed. */
  failures: number
  /** False where running it a second time could repeat an effect that may have happened. */
  rerunnable: boolean
  stopRequested: boolean
  progress?: Progress
  outcome?: Outcome
  createdAt: number
  /** Until when callers can see it. */
  expiresAt: number
  /** Until when it is kept for its idempotency key; never before `expiresAt`. */
  keepUntil: number
  /** When a worker may take it: now, after a back-off, or when its lease has run out. Absent: not for a worker. */
  dueAt?: number
  endedAt?: number
  /** What few calls have. */
  extras?: InstanceExtras
  /** What a backend needs to take up a call whose answer comes from outside; absent once it is settled. */
  waiting?: JsonValue
  /** The answer that came from outside, first come only. */
  answer?: JsonValue
}

export interface InstanceExtras {
  terms?: CallTerms
  /** When the time for all attempts together is over. */
  deadlineAt?: number
  /** When the time of the present try is over; kept while it waits for an answer from outside. */
  tryEndsAt?: number
  /** Ids of the authorizations that came with the call: their tokens are not kept, and no others stand in for them. */
  brought?: readonly string[]
  /** The rule of the policy that let it pass, or held it. */
  rule?: string
  approvalId?: string
  /** It is not run before its approval is given. */
  held?: true
  asking?: Asking
}

export type ExecutionModel = 'sync' | 'async'

interface ReplyBase {
  requestId: string
  sessionId?: string
  model: ExecutionModel
  /** Present where the instance is retained. */
  expiresAt?: number
  /** Once it has ended: how many tries that took, and how long. */
  usage?: Usage
}

export interface Usage {
  /** Which try the outcome is from; 1 is the first. */
  attempt: number
  durationMs: number
}

/** What the engine says of a call. A union, so that two outcomes at once cannot be written down. */
export type Reply =
  | (ReplyBase & {
      state: 'accepted' | 'pending'
      retryAfterMs: number
      progress?: Progress
      /** It is not run before this approval is given. */
      approvalId?: string
      /** It goes on once the caller has answered these. */
      questions?: Questions
    })
  | (ReplyBase & { state: 'complete'; result: JsonValue })
  | (ReplyBase & { state: 'complete'; location: ResultLocation })
  | (ReplyBase & { state: 'error'; fault: Fault })
