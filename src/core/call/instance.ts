/** The stored life of a call, and how it can end. */

import type { FaultRecord } from '../fault.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { FrameIntegrity } from '../operation/stream.ts'
import type { CallTerms, MediaInput } from './call.ts'
import type { Caller } from './caller.ts'
import type { Asking } from './questions.ts'
import type { ReplyAddress } from './reply-address.ts'
import type { State } from './state.ts'

/** A result that is stored as bytes and not part of the reply. */
export type ResultLocation =
  /** `value` is an additional JSON value beside the bytes. */
  | { kind: 'chunks'; mimeType: string; value?: JsonValue }
  /** `direct`: callers fetch the bytes from the object store, if it has addresses for them. */
  | { kind: 'object'; objectId: string; mimeType: string; redirect: boolean; direct?: true }
  | { kind: 'external'; uri: string; auth?: LocationAuth; redirect: boolean }

export interface LocationAuth {
  credentialType: string
  credential: string
  expiresAtMs?: number
}

export type Outcome =
  /** `objects`: the handler has stored objects, and none of them is the result. It comes first, so stores can see it. */
  | { kind: 'result'; objects?: true; value: JsonValue }
  | { kind: 'location'; location: ResultLocation }
  /** `unbegun`: a requirement was missing and nothing ran, so the caller may send the call again with the same ids. */
  | { kind: 'fault'; fault: FaultRecord; unbegun?: true }

export interface Progress {
  /** 0 to 1. It does not decrease within one try. */
  fraction: number
  message?: string
  /** The number of the try, starting at 1. Absent before the first try. */
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
  /** Present only if it cannot be computed from the other fields: see `fingerprint.ts`. */
  readonly fingerprint?: string
  readonly idempotencyKey?: string
  readonly lineage: readonly string[]
  readonly locale?: string
  readonly traceparent?: string
  readonly state: State
  /** Grows with every stored change. */
  readonly revision: number
  /** How often a worker took the call. Fences late writers. `startsOf` says how often its handler was started. */
  readonly attempt: number
  /** Attempts that failed or were handed back. A value below `attempt - 1` means that one was cut off. */
  readonly settled: number
  /** Attempts that failed. */
  readonly failures: number
  /** False if a second run could repeat an effect. */
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
  /** When a worker may take it: now, after a back-off, or when its lease expires. Absent: workers do not take it. */
  readonly dueAt?: number
  readonly endedAt?: number
  /** Fields that few calls have. */
  readonly extras?: InstanceExtras
  /** The data with which a backend resumes a call after a callback. Absent once it is settled. */
  readonly waiting?: JsonValue
  /** The content of the first callback. */
  readonly answer?: JsonValue
}

/** How often a worker took the call to start its handler. A worker that has just taken it counts. */
export function startsOf({ attempt, extras }: Pick<Instance, 'attempt' | 'extras'>): number {
  return attempt - (extras?.unbegun ?? 0)
}

/** The same for operators: a call that is still `accepted` may wait for a slot of the worker that took it. */
export function shownStartsOf(call: Pick<Instance, 'state' | 'attempt' | 'extras'>): number {
  return call.state === 'accepted' ? 0 : startsOf(call)
}

export function faultIn(outcome: Outcome | undefined): FaultRecord | undefined {
  return outcome?.kind === 'fault' ? outcome.fault : undefined
}

/** True if an open call was never started, and does not wait for an approval. */
export function isQueued(instance: Pick<Instance, 'attempt' | 'extras'>): boolean {
  return startsOf(instance) === 0 && instance.extras?.held !== true
}

/** An instance that is being built and that no other part has seen yet. */
export type InstanceDraft = { -readonly [Field in keyof Instance]: Instance[Field] }

export interface InstanceExtras {
  readonly terms?: CallTerms
  /** Deadline of all attempts together. */
  readonly deadlineAt?: number
  /** Deadline of the current try. It is kept while the call waits for a callback. */
  readonly tryEndsAt?: number
  /** Ids of the authorizations whose tokens came with the call: no other token stands in for one of them. */
  readonly brought?: readonly string[]
  /** Secrets or tokens came with the call. A record has them, sealed, until the call ends. */
  readonly sealed?: true
  /** The policy rule that allowed or held the call. */
  readonly rule?: string
  readonly approvalId?: string
  /** How often a worker took the call and gave it back before the handler started. */
  readonly unbegun?: number
  /** The call does not run before its approval. */
  readonly held?: true
  readonly asking?: Asking
  readonly stream?: StreamState
  /** The id of the call whose handler made this one. */
  readonly calledBy?: string
  /** The id of the call that this one repeats for an operator. */
  readonly replayOf?: string
  /** The owner text of that operator. */
  readonly replayedBy?: string
  /** Where the end is sent if the connection of the request is gone. */
  readonly replyTo?: KeptAddress
}

export interface KeptAddress extends ReplyAddress {
  /** The caller waits for the end, and its request is acknowledged after the end. */
  readonly direct?: true
}

/** The stored facts of a stream. */
export interface StreamState {
  readonly transport: string
  readonly encoding: string
  /** The name of the frame schema. */
  readonly schema: string
  /** An absolute URI. */
  readonly location: string
  readonly sessionId: string
  /** When the stream ends, at the latest. The instance is kept for longer. */
  readonly endsAt: number
  readonly integrity?: FrameIntegrity
  /** Further facts for the reader, such as a WebRTC answer. */
  readonly details?: JsonObject
  /** The records of the names that it has to itself. */
  readonly names?: readonly string[]
  /** No reader has connected yet, so no node runs the handler. */
  readonly awaited?: true
  /** The process that runs the handler (`Pipes.here`). Absent if no other process can reach it. */
  readonly runsAt?: string
}

export type ExecutionModel = 'sync' | 'async' | 'stream'
