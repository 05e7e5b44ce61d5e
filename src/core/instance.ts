/** The stored life of a call, and how it can end. */
import type { CallTerms, MediaInput } from './call.ts'
import type { Caller } from './caller.ts'
import type { FaultRecord } from './fault.ts'
import type { JsonValue } from './json.ts'
import type { Asking } from './questions.ts'
import type { State } from './state.ts'

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

/**
 * The stored life of a call. Stores, watchers and workers share one object, so it is never changed: a change makes a new
 * one.
 */
export interface Instance {
  readonly id: string
  readonly tenant: string
  readonly owner: string
  readonly caller: Caller
  readonly requestId: string
  readonly sessionId?: string
  readonly parentId?: string
  /** Registry key: name and full version, `v1:orders.getItem@1.0.0`. */
  readonly operation: string
  readonly model: ExecutionModel
  readonly args: JsonValue
  readonly media: readonly MediaInput[]
  /** Only where it cannot be made from the rest: see `fingerprint.ts`. */
  readonly fingerprint?: string
  readonly idempotencyKey?: string
  readonly lineage: readonly string[]
  readonly locale?: string
  readonly traceparent?: string
  readonly state: State
  /** Grows with every stored change. */
  readonly revision: number
  /** How often it was handed to a worker; 0 means that its handler never started. Fences late writers. */
  readonly attempt: number
  /** How many of those attempts are accounted for: failed or handed back. Fewer than `attempt - 1` means one was cut off. */
  readonly settled: number
  /** How many of them failed. */
  readonly failures: number
  /** False where running it a second time could repeat an effect that may have happened. */
  readonly rerunnable: boolean
  readonly stopRequested: boolean
  /** A caller was told of this call before its end, and may come back for the end. */
  readonly told?: true
  readonly progress?: Progress
  readonly outcome?: Outcome
  readonly createdAt: number
  /** Until when callers can see it. */
  readonly expiresAt: number
  /** Until when it is kept for its idempotency key; never before `expiresAt`. */
  readonly keepUntil: number
  /** When a worker may take it: now, after a back-off, or when its lease has run out. Absent: not for a worker. */
  readonly dueAt?: number
  readonly endedAt?: number
  /** What few calls have. */
  readonly extras?: InstanceExtras
  /** What a backend needs to take up a call whose answer comes from outside; absent once it is settled. */
  readonly waiting?: JsonValue
  /** The answer that came from outside, first come only. */
  readonly answer?: JsonValue
}

/** An instance that is being built and that no other part has seen yet. */
export type InstanceDraft = { -readonly [Field in keyof Instance]: Instance[Field] }

export interface InstanceExtras {
  readonly terms?: CallTerms
  /** When the time for all attempts together is over. */
  readonly deadlineAt?: number
  /** When the time of the present try is over; kept while it waits for an answer from outside. */
  readonly tryEndsAt?: number
  /** Ids of the authorizations whose tokens came with the call: no other token stands in for one of them. */
  readonly brought?: readonly string[]
  /** Secrets or tokens came with the call. A record has them, sealed, until the call ends. */
  readonly sealed?: true
  /** The rule of the policy that let it pass, or held it. */
  readonly rule?: string
  readonly approvalId?: string
  /** It is not run before its approval is given. */
  readonly held?: true
  readonly asking?: Asking
}

export type ExecutionModel = 'sync' | 'async'
