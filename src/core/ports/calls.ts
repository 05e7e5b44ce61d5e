/**
 * What a protocol may ask of the engine: make a call, poll it, watch it, cancel it, and read its chunks. It is the one
 * way in for protocols, and the duties that they share are done behind it.
 *
 * What every protocol owes:
 * - It passes `client` with every call. The engine then stops waiting when the client has gone.
 * - It says how long it waits. `holdMs` bounds the wait for an async call. A protocol without polling also sets
 *   `untilEnd`, so that the wait covers sync operations that overrun their own limit.
 * - It sets `hold` only if its client can come back to a call that waits for an approval.
 * - It sets `freezes` only if its ids promise that a repeat returns the first outcome, whatever the operation.
 * - Where a client asks about a call, it passes the caller as identified, `undefined` included.
 *
 * What is done for it:
 * - Nobody finds the calls of another caller: they are `not-found`. A client without a credential is told
 *   `unauthenticated` instead, because a credential may be all that it lacks.
 * - A call that lacks an authorization says in `details.authorization` where the person can give it, for each id
 *   `{ id, url, checkUrl }`, or `{ id }` where this server has no provider for it.
 * - A call of a client that leaves goes on, or is canceled with `cancelsWhenGone`, but not while the same request is
 *   waited for on another connection.
 */
import type { Call } from '../call.ts'
import type { Caller } from '../caller.ts'
import type { Fault } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { Operation } from '../operation.ts'
import type { Answers, Questions } from '../questions.ts'
import type { Reply } from '../reply.ts'
import type { Given } from '../requirements.ts'
import type { Identify } from './guard.ts'
import type { Chunk, ObjectInfo } from './objects.ts'

/** The client that waits for the answer. Both members are read only where they are needed, so they may be costly. */
export interface Client {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
  /** How the client reaches this server: `https://api.example.com`. */
  readonly origin: string
}

export interface CallOptions {
  client?: Client
  /** How long the client waits for an async call to end. */
  holdMs?: number
  /** `holdMs` counts for every operation. The reply is the end of the call, if it ends in that time. */
  untilEnd?: boolean
  /** Cancels the call when the client leaves before the reply, unless the same request is waited for elsewhere. */
  cancelsWhenGone?: boolean
  /** A repeated key returns the first outcome of every operation, also of those without effects. */
  freezes?: boolean
  /** Whether the client can be told that the call waits for an approval, and come back for it. */
  hold?: boolean
  /** Tokens and secrets sent with the call. They are never stored in plain text. */
  given?: Given
  /** Called once the call is recorded as one of its own; not where it joins another. */
  recorded?: () => void
  /** Records every call, also one that would not need it: for carriers that acknowledge after recording. */
  durable?: boolean
}

/** How long a poll waits for a change, and for whom. */
export interface Wait {
  waitMs: number
  client?: Pick<Client, 'signal'>
}

export interface Calls {
  /**
   * Runs or records one call. A refusal is thrown as a fault; the reply says what became of the call. It is a promise
   * only where there is something to wait for.
   */
  call(call: Call, identify: Identify, options?: CallOptions): Reply | Promise<Reply>
  /** Whether this caller may call this operation at all, for protocols that must know before they read on. */
  admit(name: string, identify: Identify): Promise<Operation>
  /** An id for a call of this caller, for uploads that are stored before the call is made. */
  newCallId(identify: Identify): Promise<string>
  /** Counts a request that makes no call and costs as much as checking one. */
  count(identify: Identify): Promise<void>
  /** Whether the server is shutting down and takes no more calls. */
  readonly draining: boolean
  /** Whether this refusal is in the trail, and observers were told of it as the end of an execution. */
  hasToldOf(refusal: Fault): boolean

  /** The call as it stands; with `wait`, once its state has changed, the time is over or the client has gone. */
  poll(caller: Caller | undefined, requestId: string, wait?: Wait): Promise<Reply>
  /** The present state and every change that a caller can see, until the call has ended or the signal aborts. */
  watch(caller: Caller | undefined, requestId: string, signal: AbortSignal): AsyncIterable<Reply>
  /** Stops a call. A call that has ended stays as it ended. The reply says which of the two happened. */
  cancel(caller: Caller | undefined, requestId: string): Promise<Reply>
  /** Stops a call for the request that started it. A call that the request joined by a key goes on. */
  callOff(caller: Caller | undefined, requestId: string): Promise<void>
  /** The session of a call, for the refusal of a request about it. Nothing if this caller has no such call. */
  known(caller: Caller | undefined, requestId: string): Promise<{ sessionId?: string } | undefined>

  /**
   * The chunk at a position, or none while the call is still making it. The position is read last: a call that does not
   * exist is `not-found`, whatever the cursor.
   */
  chunk(caller: Caller | undefined, requestId: string, position: () => number): Promise<ChunkReply>
  /** A result that is an object, for its caller. */
  object(caller: Caller | undefined, objectId: string): Promise<FoundObject>
  /** The same for the holder of a link that this server signed. The protocol checks the signature. */
  linkedObject(objectId: string): Promise<FoundObject>

  /** The questions that a call waits for; nothing if it waits for none. */
  questions(caller: Caller | undefined, requestId: string): Promise<Questions | undefined>
  /** Answers questions of a call. The call goes on once the last one is answered. */
  answer(caller: Caller | undefined, requestId: string, answers: Answers): Promise<void>
  /** An approval that is not decided yet. */
  pendingApproval(tenant: string, id: string): Promise<PendingApproval | undefined>
  /** The signed path at which the client can ask how an approval stands. */
  approvalPath(tenant: string, id: string): string
}

export interface ChunkReply {
  requestId: string
  sessionId?: string
  /** Absent while the call has not said which it is. */
  mimeType?: string
  /** Absent while the next chunk is still being made. */
  chunk?: Chunk
  totalBytes?: number
}

export interface FoundObject {
  info: ObjectInfo
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
  /** Whether the caller may approve it too. */
  selfApproval: boolean
}
