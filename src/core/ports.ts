/**
 * Everything an adapter must implement, in one place. Stores keep, objects hold bytes, backends run, guards decide;
 * the engine alone knows what it all means.
 */
import type { BucketRules } from './buckets.ts'
import type { BackendContext } from './context.ts'
import type { AuthBinding } from './credential.ts'
import type { Fault } from './fault.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Caller, Instance, InstanceExtras, Outcome, Progress } from './model.ts'
import type { Operation } from './operation.ts'
import type { AuthorizationNeed, Given } from './requirements.ts'
import type { State } from './state.ts'

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
  readonly log: Log
}

export interface Clock {
  /** Unix epoch milliseconds. */
  now(): number
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

// ── Stores ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Keeps instances. Every write is durable when its promise resolves. Many calls at once share one commit, so a store
 * is free to answer them together. A store never judges a transition: it compares and sets.
 */
export interface Store {
  /**
   * Inserts unless the request id or the idempotency key is taken; then it says by whom, and nothing is inserted. `over`
   * is an instance that first gives up the request id, if it has it: it is found under that no more.
   */
  accept(instance: Instance, over?: string): Promise<Acceptance>
  /** Lets a further request id of the same owner stand for an instance, until `expiresAt`. */
  alias(alias: Alias): Promise<Acceptance>
  get(id: string): Promise<Instance | undefined>
  /** By request id, aliases included; an alias answers with its own request id, session and expiry in place. */
  find(tenant: string, owner: string, requestId: string): Promise<Instance | undefined>
  /** Hands out due instances in the order they became due: `pending`, attempt one higher, due again after the lease. */
  claim(claim: Claim): Promise<Claimed>
  /** Moves the due time of leases that still stand; says which were lost and which should stop. */
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewal[]>
  /** Compare and set: applied if the state is one of `from` and, where given, the attempt is this one. */
  advance(change: Change): Promise<Advanced>
  /**
   * Stores an answer from outside if something waits for one and none has come, and, where given, so many tries have
   * failed; a call that nobody runs becomes due.
   */
  answer(id: string, answer: JsonValue, failures?: number): Promise<Advanced>
  /** Stores how far an attempt has come; ignored if the attempt is no longer this one. */
  progress(lease: Lease, progress: Progress): Promise<void>
  /** Asks whichever node runs the instance to stop it; that node learns of it when it extends its lease. */
  requestStop(id: string): Promise<void>
  /** Calls back after each committed change with the instance as it then is. Returns how to end it. */
  watch(id: string, changed: (instance: Instance) => void): () => void
  /** Unended instances past their expiry, oldest first. */
  overdue(limit: number): Promise<readonly Instance[]>
  /** Instances past `keepUntil`, oldest first: what may be removed, with the objects that go first. */
  purgeable(limit: number): Promise<readonly string[]>
  purge(ids: readonly string[]): Promise<void>
  /** Unended instances, and how many of them have never been started and wait for nobody's approval. */
  openCounts(): Promise<OpenCounts>
  /** Small values that are neither calls nor bytes. */
  readonly records: Records
  readonly audit: AuditTrail
  /** Waits for writes under way, then closes. */
  close(): Promise<void>
}

/** Durable values by key. One that is past its expiry is not there, also before it is removed. */
export interface Records {
  /** Replaces what is there, its expiry included; without one it stays until it is removed. */
  put(key: string, value: string, expiresAt?: number): Promise<void>
  get(key: string): Promise<string | undefined>
  /** Writes only if the key is free; says whether it did. */
  add(key: string, value: string, expiresAt?: number): Promise<boolean>
  /** Writes only if the value is still the expected one; says whether it did. */
  replace(key: string, expected: string, value: string, expiresAt?: number): Promise<boolean>
  /** Reads and removes at once: of two who take the same record, one gets it. */
  take(key: string): Promise<string | undefined>
  remove(key: string): Promise<void>
  /** Those whose key begins so, in the order of their keys, from behind `after`. */
  list(prefix: string, limit: number, after?: string): Promise<readonly { key: string; value: string }[]>
  /** Removes up to `limit` that are past their expiry, and says how many there were. */
  purge(limit: number): Promise<number>
}

/** Who did what, when and with which outcome; kept longer than the calls themselves. */
export interface AuditTrail {
  append(entry: AuditEntry): Promise<void>
  /** The newest first, from before `before` (an entry's id). */
  list(query: AuditQuery): Promise<readonly AuditEntry[]>
  /** Removes up to `limit` that ended before this time, and says how many there were. */
  purge(endedBefore: number, limit: number): Promise<number>
}

export interface AuditEntry {
  id: string
  tenant: string
  owner: string
  requestId: string
  operation: string
  /** Of the arguments and attachments: they are not kept here themselves. */
  fingerprint: string
  verdict: 'allow' | 'deny' | 'hold'
  rule?: string
  approvalId?: string
  backend: string
  attempts: number
  /** `complete` or the fault's kind. */
  outcome: string
  code?: string
  startedAt: number
  endedAt: number
}

export interface AuditQuery {
  tenant: string
  operation?: string
  owner?: string
  before?: string
  limit: number
}

export type Acceptance =
  | { kind: 'created' }
  /** The owner has used this request id. */
  | { kind: 'request-id-taken'; instance: Instance }
  /** The owner has used this idempotency key for this operation, in whichever version. */
  | { kind: 'key-taken'; instance: Instance }

export interface Alias {
  tenant: string
  owner: string
  requestId: string
  sessionId?: string
  instanceId: string
  expiresAt: number
}

export interface Claim {
  /** Registry keys this node has; the array is reused while it does not change. */
  operations: readonly string[]
  limit: number
  /** Of these operations no more than so many, child calls not counted. */
  slots?: ReadonlyMap<string, number>
  /** Only calls that other calls wait for. */
  onlyChildren?: boolean
  leaseMs: number
}

export interface Claimed {
  instances: readonly Instance[]
  /** When the next one of these operations becomes due. */
  nextDueAt?: number
}

export interface Lease {
  id: string
  attempt: number
}

export interface Renewal extends Lease {
  held: boolean
  stopRequested: boolean
}

export interface Change {
  id: string
  from: readonly State[]
  to: State
  attempt?: number
  outcome?: Outcome
  settled?: number
  failures?: number
  /** When a worker may take it again; absent: never. */
  dueAt?: number
  /** Gives the idempotency key back, for a call whose handler never started, or counts as never started. */
  releaseKey?: boolean
  expiresAt?: number
  keepUntil?: number
  endedAt?: number
  extras?: InstanceExtras
  /** `null` clears it, and the answer with it. */
  waiting?: JsonValue | null
  /** Kept if the change applies. */
  audit?: AuditEntry
}

/** `instance` is the row after the change, or as it stands if the change did not apply; absent if there is none. */
export interface Advanced {
  applied: boolean
  instance?: Instance
}

export interface OpenCounts {
  queued: number
  byOwner: ReadonlyMap<string, number>
  /** By registry key. */
  byOperation: ReadonlyMap<string, number>
}

// ── Objects ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Holds bytes: results, chunks, attachments. An object appears whole or not at all; a chunk is durable before it can
 * be read. Ids are `{owner id}/{name}`, and everything of one owner id goes at once.
 */
export interface ObjectStore {
  /** Streams to the end, or throws (`maxBytes` passed, source failed, disk full) and leaves nothing behind. */
  put(id: string, source: AsyncIterable<Uint8Array>, options: PutOptions): Promise<ObjectInfo>
  info(id: string): Promise<ObjectInfo | undefined>
  /** Bytes `start` up to but not including `end`. */
  read(id: string, range?: { start: number; end: number }): AsyncIterable<Uint8Array>
  /** Opens a chunked object for writing, from its start. Chunks that exist must come out the same again. */
  writeChunks(id: string, options: ChunkOptions): Promise<ChunkWriter>
  /** The chunk at `index`, if it has been announced. */
  chunk(id: string, index: number): Promise<Chunk | undefined>
  /** What is known of a chunked object so far. */
  chunks(id: string): Promise<ChunksInfo | undefined>
  removeOwner(owner: string): Promise<void>
  /** Owner ids whose bytes were last written before this time, for finding what a crash left behind. */
  owners(before: number): AsyncIterable<string>
}

export interface PutOptions {
  mimeType: string
  maxBytes: number
  filename?: string
}

export interface ObjectInfo {
  id: string
  bytes: number
  sha256: string
  mimeType: string
  filename?: string
  createdAt: number
}

export interface ChunkOptions {
  mimeType: string
  chunkBytes: number
  /** Text is cut between code points only. */
  text: boolean
}

export interface ChunkWriter {
  write(bytes: Uint8Array): Promise<void>
  finish(): Promise<ChunksInfo>
}

export interface ChunksInfo {
  count: number
  bytes: number
  finished: boolean
  mimeType: string
}

export interface Chunk {
  index: number
  offset: number
  length: number
  /** `sha256:` and hex. */
  checksum: string
  checksumPrevious: string | null
  /** Known for every chunk: a store does not announce one before it knows whether another follows. */
  last: boolean
  bytes: Uint8Array
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
  forget(id: string): Promise<void>
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
  /** Somebody was told of this call before its end: whichever runs it keeps the outcome for them. */
  keep(id: string): void
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
