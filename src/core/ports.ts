/**
 * Everything an adapter must implement, in one place. Stores keep, objects hold bytes, backends run, guards decide;
 * the engine alone knows what it all means.
 */
import type { BucketRules } from './buckets.ts'
import type { BackendContext } from './context.ts'
import type { AuthBinding } from './credential.ts'
import type { Fault } from './fault.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Caller, Outcome } from './model.ts'
import type { Operation } from './operation.ts'
import type { AuthorizationNeed, Given } from './requirements.ts'
import type { AuditEntry, RecordChange } from './storage-ports.ts'

export type {
  Acceptance,
  AcceptMore,
  Advanced,
  Alias,
  AuditEnding,
  AuditEntry,
  AuditQuery,
  AuditTrail,
  Change,
  Chunk,
  ChunkOptions,
  ChunksInfo,
  ChunkWriter,
  Claim,
  Claimed,
  Created,
  Lease,
  ObjectInfo,
  ObjectStore,
  OpenCounts,
  PutOptions,
  RecordChange,
  Records,
  Renewal,
  Store,
  Taken,
} from './storage-ports.ts'

/** Time, chance and identity come from outside, so that a test can hold them still. */
export interface Environment {
  readonly clock: Clock
  /** UUID version 7: unique, and ordered by time so that stores index well. */
  newId(): string
  /** 0 ≤ x < 1. */
  random(): number
  /** SHA-256 in hex. */
  digest(text: string): string
  /** A keyed hash that only this deployment can make, URL-safe. */
  sign(text: string): string
  base64(bytes: Uint8Array): string
  gzip(text: string): Uint8Array
  /** Whether a value is as this JSON Schema wants it. */
  conforms(schema: JsonObject, value: JsonValue): boolean
  /** From now on this value is removed from whatever is written; the returned function says that it is out of use. */
  conceal(value: string): () => void
  /** Without the values that are concealed. */
  redact(value: JsonValue): JsonValue
  /** The same for one stream of bytes. */
  redactBytes(): ByteRedactor
  readonly log: Log
}

/** Lets the bytes of one stream pass without concealed values, also those that begin in one piece and end in another. */
export interface ByteRedactor {
  /** What may leave by now. */
  push(bytes: Uint8Array): Uint8Array
  /** What is left. */
  end(): Uint8Array
}

export interface Clock {
  /** Unix epoch milliseconds, for what people and other machines see. An administrator can set it at any moment. */
  now(): number
  /** Whole milliseconds since some moment, never set: for every interval that begins and ends here. */
  monotonicMs(): number
  /** Runs once after the delay; the returned function calls it off. Does not keep the process alive. */
  schedule(delayMs: number, run: () => void): () => void
}

/** The part of pino that is used: fields first, then the sentence. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A log that adds these fields to every line. */
  child(fields: object): Log
}

// ── Backends, guards, and what else the engine asks of the outside ──────────────────────────────────────────────────

/**
 * Runs one attempt. What it returns is checked against the result schema before anybody sees it; a `Deferred` leaves
 * the call waiting.
 */
export interface Backend {
  readonly kind: string
  /** What it runs can reach nothing but its input: no files, no network, bounded memory and time. */
  readonly isolated?: boolean
  /** The name of the secret that signs answers from outside; without one, none are taken. */
  readonly callbackSecret?: string
  /** Where it can show nobody a credential: what to do instead of declaring `auth`. Such a declaration is refused. */
  readonly refusesAuth?: string
  /** Its calls are recorded whatever their operation says, because their answers may come after a restart. */
  readonly durable?: boolean
  execute(args: unknown, context: BackendContext): unknown
  /** Takes up a call that was left waiting, or cut off after it had announced an answer from outside. */
  resume?(waiting: JsonValue, args: unknown, context: BackendContext): unknown
  /** A call that was left waiting has ended without its answer: tells the other side, as well as it can. */
  abandon?(waiting: JsonValue, context: BackendContext): Promise<void>
  /** Lets go of connections, processes and threads. */
  close?(): Promise<void>
}

/** What every kind of backend is made with, besides its own settings. */
export interface BackendParts {
  readonly clock: Clock
  readonly log: Log
  readonly remote: RemoteClient
  /** Paths in a declaration are relative to it. */
  readonly folder: string
  /** For backends with connections of their own: where a host is, or a fault if one must not connect there. */
  lookup?(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
}

export interface RemoteAddress {
  address: string
  family: number
}

/** Speaks HTTP with remote tools, under rules about where it may go. Connections are kept; redirects are not followed. */
export interface RemoteClient {
  /** Throws a fault if there is no answer, it is too large, or the target is not allowed. */
  send(request: RemoteRequest): Promise<RemoteAnswer>
}

export interface RemoteRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string
  /** Of the answer's body. */
  maxBytes: number
  /** The operator has said that this one may be in a private network or on this machine. */
  allowPrivate?: boolean
  signal: AbortSignal
}

export interface RemoteAnswer {
  status: number
  header(name: string): string | undefined
  text: string
}

/** Headers (or metadata) that show a remote tool who we are. */
export interface Credential {
  readonly headers: Readonly<Record<string, string>>
  /** What a tool could repeat of them: the values, and what they stand for. Absent: the headers' values as they are. */
  readonly shown?: readonly string[]
  /** The tool has refused them. True if they were remembered and fresh ones are worth one more request. */
  refused(): boolean
}

/** Resolves the secrets that operations refer to; asked anew for each attempt. */
export interface Credentials {
  /** Whatever it resolves passes through `conceal` before it is used. */
  resolve(auth: AuthBinding, conceal: (value: string) => string, signal: AbortSignal): Promise<Credential>
}

/** What a tool was shown for a call whose answer comes later, so that it can be taken out of that answer. */
export interface Shown {
  /** Adds to what is kept for this call. */
  keep(id: string, values: readonly string[], expiresAt: number): Promise<void>
  recall(id: string): Promise<readonly string[]>
  /** Removes it: to be written with the end of the call. */
  forgetting(id: string): readonly RecordChange[]
}

/** Decides whether a call may go on: it says so, objects by throwing a fault, or has no opinion. */
export interface Guard {
  /** Before the arguments are looked at. */
  admit?(caller: Caller, operation: Operation): void | Promise<void>
  /** Whether `decide` can ever have something to say of this operation; asked once. Absent: of every one. */
  concerns?(operation: Operation): boolean
  /** With the arguments, once they are valid; asked for each form of them, as sent and as the handler gets them. */
  decide?(caller: Caller, operation: Operation, args: JsonValue): Decision | void | Promise<Decision> | Promise<void>
}

/** Of several decisions the strictest counts. */
export interface Decision {
  verdict: 'allow' | 'hold' | 'deny'
  /** What decided: `policy.yaml#no-deletes`. */
  rule?: string
  /** For the caller. */
  reason?: string
  /** A denial that may be tried again as it is, because the policy says so. */
  retryable?: boolean
  /** A denial that is not for want of permission says so itself. */
  fault?: Fault
  /** How long an approval is waited for. */
  approvalTtlMs?: number
  /** Whether the caller may approve it too. */
  selfApproval?: boolean
}

/** What a request shows of its sender: header fields or metadata, and the `auth` block of an envelope that has one. */
export interface Presented {
  header(name: string): string | undefined
  readonly auth?: PresentedAuth | undefined
}

/** Unproved, and `credential` is a secret. */
export interface PresentedAuth {
  iss: string
  sub: string
  credentialType: string
  credential?: string
}

/** Who is calling: the caller, nothing if no credential was given, or a fault if it is not a good one. */
export type Identify = () => Caller | undefined | Promise<Caller | undefined>

/** Tokens that people have let us have at other services: each belongs to a caller, or to one of the caller's users. */
export interface Authorizations {
  /** Fresh enough to be used now; nothing if the person has not authorized these scopes. */
  token(caller: Caller, id: string, scopes: readonly string[]): Promise<string | undefined>
  /** The provider has refused this token: it is renewed before the next use, or else the person is asked again. */
  refused(caller: Caller, id: string, token: string): Promise<void>
  /**
   * What the person has to open to authorize these, and where to ask whether it was done. `origin` is how the caller
   * reaches us. Ids this server has no provider for are left out: there is nothing to open for them.
   */
  challenge(
    caller: Caller,
    needs: readonly AuthorizationNeed[],
    origin: string,
  ): Promise<readonly AuthorizationChallenge[]>
}

export interface AuthorizationChallenge {
  id: string
  /** For the person, in a browser. */
  url: string
  /** Answers `{"status": "pending" | "completed" | "failed"}`. */
  checkUrl: string
}

/** Fetches attachments that are named by URI, under rules about where it may go. */
export interface Fetcher {
  /** Type and size as the other side states them. */
  probe(uri: string, signal: AbortSignal): Promise<{ mimeType?: string; bytes?: number }>
  open(uri: string, maxBytes: number, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** Remembers results for operations that say they may be remembered. */
export interface ResultCache {
  get(key: string): Outcome | undefined
  set(key: string, outcome: Outcome, ttlMs: number): void
}

/** What the processes of one server count together. */
export interface SharedLimits {
  /** Takes one token: 0, or how many milliseconds to wait for it. */
  takeToken(bucket: BucketRules, key: string): Promise<number>
  /** One of `most` slots of this operation. If there is none and the process waits, the next one is kept for it. */
  enter(operation: string, most: number, waits: boolean): Promise<boolean>
  /** The same for a call that runs in any case. */
  entered(operation: string): void
  leave(operation: string): void
  /** So many more calls of this owner are open, or, without an owner, in the queue. The others learn it in a moment. */
  counted(owner: string | undefined, calls: number): void
  listen(listener: SharedLimitsListener): void
}

export interface SharedLimitsListener {
  counted(open: Iterable<readonly [owner: string, calls: number]>, queued: number): void
  /** A slot of this operation is this process's, until it leaves. */
  kept(operation: string): void
}

/** The other processes of this server. What they are told may come too late; what counts is in the store. */
export interface Siblings {
  /** Whichever runs this call is to stop it. */
  stop(id: string, why: Fault): void
  /**
   * Somebody is told of this call before its end: whichever runs it keeps the outcome for them from when this settles;
   * false if its end is being written already.
   */
  keep(id: string): Promise<boolean>
  /** What a call brought, for whichever runs it; in memory only. */
  handOver(id: string, given: Given): void
  handedOver(id: string): Promise<Given | undefined>
  forget(id: string): void
}

/** Watches the engine work: spans and metrics. What is left out costs nothing. */
export interface Observer {
  /** Nothing if this one is not watched. */
  attemptStarted?(operation: Operation, attempt: ObservedAttempt): AttemptObservation | undefined
  /** `outcome` is `complete` or the fault's kind. */
  callEnded?(operation: Operation, outcome: string, durationMs: number): void
  /** A call as a whole, once it has ended: one that was recorded, or that a rule decided about. */
  executed?(operation: Operation, execution: Execution): void
  /** The same of every other call, which is nearly all of them where nothing is kept. */
  executedUnrecorded?(operation: Operation, execution: Execution): void
}

/** Notes of what is to be told elsewhere: they are written in the same commit as what they tell of. */
export interface Outbox {
  /** A recorded call ends. Nothing if nobody is told of it. */
  ended(operation: Operation, entry: () => AuditEntry): readonly RecordChange[] | undefined
}

export interface Execution {
  entry: AuditEntry
  outcome: Outcome
  /** The span of the last attempt where there is one; else what the caller sent. */
  traceparent?: string
}

export interface AttemptObservation {
  /** The span in W3C form, for whatever the handler calls in turn. */
  readonly traceparent?: string
  /** Runs the handler with the attempt's span as the current one, so that the handler's own spans nest in it. */
  within<T>(run: () => T): T
  /** Without an outcome: the call waits for an answer from outside. */
  ended(outcome: Outcome | undefined): void
}

export interface ObservedAttempt {
  readonly number: number
  readonly job: { id: string; requestId: string; sessionId?: string; traceparent?: string }
  readonly run: { readonly failures: number }
}
