/**
 * The engine as protocols see it: make a call, poll it, watch it, cancel it, and read its chunks. Protocols have no
 * other access to the engine. The duties that all protocols share are implemented behind this port.
 *
 * Every protocol must do the following:
 * - It passes `client` with every call. The engine then stops waiting when the client leaves.
 * - It sets how long it waits. `holdMs` bounds the wait for an async call. A protocol without polling also sets
 *   `untilEnd`, so that the wait covers sync operations that overrun their own limit.
 * - It sets `hold` only if its client can return to a call that waits for an approval.
 * - It sets `freezes` only if its ids promise that a repeat returns the first outcome, whatever the operation.
 * - When a client asks about a call, it passes the identified caller, or `undefined` if there is none.
 *
 * The engine does the following:
 * - It hides the calls of other callers: they are `not-found`. A client without a credential gets
 *   `unauthenticated` instead, because a credential may be all that is missing.
 * - If a call lacks authorizations, `details.authorization` says where the person can grant them: for each id
 *   `{ id, url, checkUrl }`, or `{ id }` if this server has no provider for it.
 * - When a client leaves, its call continues. With `cancelsWhenGone` the engine cancels it, unless the same request
 *   is waiting on another connection.
 */
import type { Call } from '../call/call.ts'
import type { Caller } from '../call/caller.ts'
import type { Answers, Questions } from '../call/questions.ts'
import type { Reply } from '../call/reply.ts'
import type { ReplyAddress } from '../call/reply-address.ts'
import type { Fault } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { Operation } from '../operation/operation.ts'
import type { Given } from '../operation/requirements.ts'
import type { StreamReader, StreamWish } from './frames.ts'
import type { Identify } from './guard.ts'
import type { Chunk, ObjectInfo } from './objects.ts'

/** The client that waits for the response. Both members are read only when needed, so they may be expensive. */
export interface Client {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** How the client reaches this server: `https://api.example.com`. */
  readonly origin: string
}

export interface CallOptions {
  client?: Client
  /** How long the client waits for an async call to end. */
  holdMs?: number
  /** Applies `holdMs` to every operation. The reply is the end of the call, if the call ends in that time. */
  untilEnd?: boolean
  /**
   * Cancels the call when the client leaves before the reply, unless the same request is waiting on another connection.
   */
  cancelsWhenGone?: boolean
  /** A repeated key returns the first outcome of every operation, including operations without side effects. */
  freezes?: boolean
  /** True if the client can handle a call that waits for an approval, and return to it later. */
  hold?: boolean
  /** Tokens and secrets sent with the call. They are never stored in plain text. */
  given?: Given
  /**
   * Called once the call is recorded as a new call, and its end will reach the address of `owed`, if there is one. Not
   * called if the call joins an existing one, or if it ends soon.
   */
  recorded?: () => void
  /** The end is owed to an address that outlives the connection. Made by `oweReply` for this call. */
  owed?: OwedReply | undefined
  /** Reads what the caller wants of a stream. Absent if the protocol cannot carry streams. */
  stream?: ReadWish
  /** The same request may arrive again after its reply, so the record of a call is kept although its caller was told. */
  redelivers?: boolean
}

/**
 * Called if the operation is a stream. Returns the call without the arguments that are not for the operation, and what
 * they say about the stream.
 */
export type ReadWish = (operation: Operation, call: Call, origin: string) => { call: Call; wish: StreamWish }

/** The end of one call, owed to an address. Until it is paid, a server sends it when the connection is gone. */
export interface OwedReply {
  readonly address: ReplyAddress
  /** False if nothing is stored: the call is not recorded, or has ended before its caller was told to wait. */
  readonly isKept: boolean
  /** The end has reached the address. Never rejects. */
  paid(): Promise<void>
  /** The connection does not send the end. */
  release(): void
}

/** How long a poll waits for a change, and which client waits. */
export interface Wait {
  waitMs: number
  client?: Pick<Client, 'signal'>
}

export interface Calls {
  /**
   * Runs or records one call. Throws a fault if the call is refused. The reply has the state of the call. It is a
   * promise only if the engine has to wait.
   */
  call(call: Call, identify: Identify, options?: CallOptions): Reply | Promise<Reply>
  /** Pass the result with one call. Then the end of the call reaches the address, even if this process ends. */
  oweReply(address: ReplyAddress): OwedReply
  /** Checks that this caller may call this operation, for protocols that must know before they read the body. */
  admit(name: string, identify: Identify): Promise<Operation>
  /** An id for a call of this caller, for uploads that are stored before the call is made. */
  newCallId(identify: Identify): Promise<string>
  /** Counts a request that makes no call but costs as much as one against the caller's rate limit. */
  count(identify: Identify): Promise<void>
  /** True if the server is shutting down and accepts no more calls. */
  readonly draining: boolean
  /** True if this refusal is in the audit trail and was reported to observers as the end of an execution. */
  hasToldOf(refusal: Fault): boolean

  /**
   * The current state of the call. With `wait`, returns when the state changes, the time is over or the client leaves.
   */
  poll(caller: Caller | undefined, requestId: string, wait?: Wait): Promise<Reply>
  /** The current state and every change that a caller can see, until the call ends or the signal aborts. */
  watch(caller: Caller | undefined, requestId: string, signal: AbortSignal): AsyncIterable<Reply>
  /** Cancels a call. A call that has ended does not change. The reply says which of the two happened. */
  cancel(caller: Caller | undefined, requestId: string): Promise<Reply>
  /** Cancels a call for the request that started it. A call that the request joined by a key continues. */
  callOff(caller: Caller | undefined, requestId: string): Promise<void>
  /** The session of a call, for the refusal of a request about it. `undefined` if this caller has no such call. */
  known(caller: Caller | undefined, requestId: string): Promise<{ sessionId?: string } | undefined>

  /**
   * The chunk at a position, or none while the call is still producing it. `position` is called last, so that a call
   * that does not exist is `not-found` even if the cursor is malformed.
   */
  chunk(caller: Caller | undefined, requestId: string, position: () => number): Promise<ChunkReply>
  /** A result that is an object, for its caller. */
  object(caller: Caller | undefined, objectId: string): Promise<FoundObject>
  /** The same for the holder of a link that this server signed. The protocol checks the signature. */
  linkedObject(objectId: string): Promise<FoundObject>

  /**
   * Connects a reader to a stream of this caller, or of the caller that got the ticket. Throws a fault if the reader
   * may not read the stream. The frames arrive in the channel that the reader opens.
   */
  readStream(caller: Caller | undefined, reader: StreamReader): Promise<void>
  /** Ends a stream, or all streams of a session. Returns the request ids of the ended streams. */
  unsubscribe(caller: Caller | undefined, which: { requestId: string } | { sessionId: string }): Promise<string[]>

  /** The questions that a call waits for. `undefined` if it waits for none. */
  questions(caller: Caller | undefined, requestId: string): Promise<Questions | undefined>
  /** Answers questions of a call. The call continues once the last one is answered. */
  answer(caller: Caller | undefined, requestId: string, answers: Answers): Promise<void>
  /** An approval that is not decided yet. `undefined` otherwise. */
  pendingApproval(tenant: string, id: string): Promise<PendingApproval | undefined>
  /** The signed path at which the client can read the status of an approval. */
  approvalPath(tenant: string, id: string): string
}

export interface ChunkReply {
  requestId: string
  sessionId?: string
  /** Absent until the call has set it. */
  mimeType?: string
  /** Absent while the call is still producing the next chunk. */
  chunk?: Chunk
  totalBytes?: number
}

export interface FoundObject {
  info: ObjectInfo
  /** An address of the bytes that needs no credential and expires soon, if the operation wants callers to use it. */
  link?: string
  read(range?: { start: number; end: number }): AsyncIterable<Uint8Array>
}

export interface PendingApproval {
  id: string
  tenant: string
  /** The registry key of the operation. */
  operation: string
  args: JsonValue
  attachments?: readonly { name: string; mimeType: string; bytes: number; sha256: string }[]
  reason?: string
  /** True if the caller may approve it too. */
  selfApproval: boolean
}
