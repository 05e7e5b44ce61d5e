/**
 * OpenCALL on a message connection. Each message has one envelope, and calls run concurrently. The server sends every
 * later state of a call as a further envelope. Built-in operations replace the HTTP addresses.
 * docs/readings.md#r33, #r34 and #r35.
 */
import { ANONYMOUS, type Caller, ownerKey, ownerOf } from '../../../core/call/caller.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Calls, Client, OwedReply, ReadWish } from '../../../core/ports/calls.ts'
import type { StreamTransports } from '../../../core/ports/frames.ts'
import type { Identify, Presented } from '../../../core/ports/guard.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Connection, Message, OpenSession, Session } from '../../../core/ports/session.ts'
import { within } from '../../../core/within.ts'
import { explain } from '../../../wire/explain.ts'
import { LateSignal } from '../../../wire/late-signal.ts'
import { readText } from '../../../wire/messages/text.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import { replyEnvelope } from '../addresses.ts'
import { decodeCall, encodeRefusal, encodeResult, referencedMedia } from '../codec.ts'
import { parseEnvelope, requestIdIn, sessionIdIn } from '../envelope.ts'
import { namingRemoved } from '../faults.ts'
import { startMeta, type Told } from '../meta.ts'
import { readWish } from '../stream-wish.ts'
import type { RequestEnvelope, ResponseEnvelope } from '../wire.ts'
import { answerBuiltIn, type BuiltIn, type BuiltInParts, builtIn, hasEnded } from './built-in.ts'
import { PeerIdentity } from './peer-identity.ts'
import { Receipt } from './receipt.ts'
import {
  addressedToAnother,
  canRedeliver,
  cutOff,
  needsAuth,
  readLeniently,
  refuseEffects,
  requireIdentity,
} from './refusals.ts'

export interface OpenCallSessionSettings {
  /** True to follow the specification literally, without the lenient readings. */
  strict: boolean
  /**
   * True if the carrier redelivers a message until it is acknowledged. Then a message that the server cannot process now
   * is not acknowledged. A call that needs no record is acknowledged after its response, and may run again.
   */
  redelivers?: boolean
  /** True if every envelope must have an `auth` block, because the carrier does not know its peers. */
  requiresAuth?: boolean
}

export interface OpenCallSessionParts {
  calls: Pick<Calls, 'admit' | 'call' | 'oweReply' | 'poll' | 'watch' | 'cancel' | 'chunk'>
  env: Environment
  /** Where streams can be read. */
  transports: StreamTransports
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
  settings: OpenCallSessionSettings
}

/** How long a watch of later states rests while the storage is away. */
const WATCH_AGAIN_MS = 1_000

export function createOpenCallSessions(parts: OpenCallSessionParts): OpenSession {
  return (connection) => new OpenCallSession(parts, connection)
}

/** The client of the calls of a session. It leaves when the session closes. */
class SessionClient implements Client {
  readonly origin: string
  readonly #leaving: LateSignal

  constructor(origin: string, leaving: LateSignal) {
    this.origin = origin
    this.#leaving = leaving
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }
}

class OpenCallSession implements Session {
  readonly #parts: OpenCallSessionParts
  readonly #connection: Connection
  readonly #identity: PeerIdentity
  readonly #client: Client
  readonly #readWish: ReadWish
  readonly #leaving = new LateSignal()
  /** Absent while nothing is open, as in most sessions of a broker's carrier, which have one message. */
  #open: Set<Promise<void>> | undefined
  /** The calls whose later states are sent, by caller and request id: an `auth` block can change the caller. */
  #watched: Set<string> | undefined

  constructor(parts: OpenCallSessionParts, connection: Connection) {
    this.#parts = parts
    this.#connection = connection
    this.#identity = new PeerIdentity(parts.identify, connection.peer)
    this.#readWish = readWish(parts.transports, connection)
    this.#client = new SessionClient(connection.origin, this.#leaving)
  }

  /**
   * Resolves when the call is recorded, or when the response is sent if the call needs no record. A message that is
   * answered at once needs no promise.
   */
  receive(message: Message, id?: () => string): void | Promise<void> {
    const receipt = new Receipt(this.#client, this.#readWish, this.#redelivers)
    const handling = this.#handle(message, id, receipt)
    if (!handling) return
    const taken = Promise.withResolvers<void>()
    if (receipt.isRecorded) taken.resolve()
    else receipt.taken = taken.resolve
    this.#track(handling.then(taken.resolve, taken.reject))
    return taken.promise
  }

  refuse(fault: Fault, message?: Message): void | Promise<void> {
    return this.#sendFault(fault, message === undefined ? null : readLeniently(message))
  }

  finish(): void | Promise<void> {
    const open = this.#open
    if (open && open.size > 0) return finishAll(open)
  }

  close(): void | Promise<void> {
    this.#leaving.abort()
    return this.finish()
  }

  /** A carrier redelivers only what it cannot lose. */
  get #redelivers(): boolean {
    return this.#parts.settings.redelivers === true && !this.#connection.lossy
  }

  #track(work: Promise<void>): void {
    this.#open ??= new Set()
    const open = this.#open
    const tracked = work.finally(() => open.delete(tracked))
    open.add(tracked)
  }

  #handle(message: Message, id: (() => string) | undefined, receipt: Receipt): void | Promise<void> {
    try {
      receipt.sent = parseJsonText(readText(message))
      return this.#answer(receipt.sent, id, receipt)?.catch((thrown: unknown) => this.#fail(thrown, receipt))
    } catch (thrown) {
      return this.#fail(thrown, receipt)
    }
  }

  #fail(thrown: unknown, { sent, isRecorded, owed }: Receipt): void | Promise<void> {
    owed?.release()
    const fault = Fault.from(thrown)
    // A redelivery may reach a server whose storage works, or one that is not shutting down.
    if (this.#redelivers && !isRecorded && canRedeliver(fault)) return Promise.reject(fault)
    return this.#sendFault(fault, sent)
  }

  #answer(sent: JsonValue, id: (() => string) | undefined, receipt: Receipt): void | Promise<void> {
    const { strict, requiresAuth } = this.#parts.settings
    const envelope = parseEnvelope(sent, strict)
    if (requiresAuth && !envelope.auth) throw needsAuth()
    const { subject = envelope.op } = this.#connection
    if (subject !== envelope.op) throw addressedToAnother(subject)
    const requestId = envelope.ctx.requestId ?? id?.() ?? this.#parts.env.newId()
    const identify = this.#identity.of(envelope.auth)
    const act = builtIn(envelope.op)
    if (act) return this.#actBuiltIn(act, envelope, requestId, identify)
    if (this.#redelivers && id === undefined) requireIdentity(envelope)
    if (!this.#connection.lossy) return this.#call(envelope, requestId, identify, receipt)
    return this.#parts.calls.admit(envelope.op, identify).then((operation) => {
      refuseEffects(operation)
      return this.#call(envelope, requestId, identify, receipt)
    })
  }

  async #actBuiltIn(act: BuiltIn, envelope: RequestEnvelope, requestId: string, identify: Identify): Promise<void> {
    const parts: BuiltInParts = {
      calls: this.#parts.calls,
      base64: this.#parts.env.base64,
      encode: (reply) => this.#encode(reply),
      push: (...call) => this.#push(...call),
    }
    await this.#send(await answerBuiltIn(act, parts, envelope, requestId, identify))
  }

  #call(envelope: RequestEnvelope, requestId: string, identify: Identify, receipt: Receipt): void | Promise<void> {
    const { op } = envelope
    const call = decodeCall(envelope, requestId, referencedMedia(envelope.media))
    const { calls } = this.#parts
    const { replyTo } = this.#connection
    if (replyTo) receipt.owed = calls.oweReply(replyTo)
    const told: Told = { op, meta: startMeta(envelope, this.#parts.env.clock) }
    const replying = calls.call(call, () => receipt.identify(identify), receipt)
    if (replying instanceof Promise) return replying.then((reply) => this.#reply(reply, told, requestId, receipt))
    return this.#reply(replying, told, requestId, receipt)
  }

  #reply(reply: Reply, told: Told, requestId: string, receipt: Receipt): void | Promise<void> {
    const { owed } = receipt
    // A call that is cut off because the server shuts down can run on another one.
    if (this.#redelivers && !receipt.isRecorded && this.#leaving.isAborted && isCanceled(reply)) throw cutOff()
    if (!hasEnded(reply)) {
      const first = this.#encode(reply, told)
      return after(this.#send(first), () => this.#push(requestId, receipt.caller, first, owed))
    }
    const sending = this.#sendEnd(reply, told)
    return owed?.isKept ? after(sending, () => this.#track(this.#pay(owed))) : sending
  }

  #sendEnd(reply: Reply, told: Told): void | Promise<void> {
    if (reply.state === 'complete' && 'result' in reply)
      return this.#connection.send(encodeResult(reply, told.meta?.()), reply.requestId)
    return this.#send(this.#encode(reply, told))
  }

  /** Sends every later state of a call once, also if the peer asks for it several times. */
  #push(requestId: string, caller: Caller | undefined, first: ResponseEnvelope, owed?: OwedReply): void {
    this.#watched ??= new Set()
    const watched = this.#watched
    const { tenant } = caller ?? ANONYMOUS
    const key = `${ownerKey(tenant, ownerOf(caller ?? ANONYMOUS))} ${requestId}`
    if (watched.has(key)) {
      owed?.release()
      return
    }
    watched.add(key)
    this.#track(this.#watch(requestId, caller, first, owed).finally(() => watched.delete(key)))
  }

  async #watch(
    requestId: string,
    caller: Caller | undefined,
    first: ResponseEnvelope,
    owed: OwedReply | undefined,
  ): Promise<void> {
    const { signal } = this.#leaving
    let last = JSON.stringify(asLaterState(first))
    let isEnd = false
    const sendStates = async () => {
      for await (const reply of this.#parts.calls.watch(caller, requestId, signal)) {
        const envelope = this.#encode(reply)
        const text = JSON.stringify(envelope)
        if (text !== last && !signal.aborted) await this.#connection.send(text, requestId)
        last = text
        isEnd = hasEnded(reply) && !signal.aborted
      }
    }
    try {
      while (!(await this.#succeeds(sendStates))) await this.#storageMayBeBack()
      if (isEnd && owed) await this.#pay(owed)
    } catch (thrown) {
      await this.#send(encodeRefusal(explain(thrown, this.#parts.env.log), requestId, first.sessionId))
    } finally {
      owed?.release()
    }
  }

  /** False if the storage is away. The call goes on without it, so an error would be taken for its end. */
  async #succeeds(follow: () => Promise<void>): Promise<boolean> {
    try {
      await follow()
      return true
    } catch (thrown) {
      if (!Fault.from(thrown).ofStorage) throw thrown
      return this.#leaving.isAborted
    }
  }

  async #storageMayBeBack(): Promise<void> {
    await within(this.#parts.env.clock, WATCH_AGAIN_MS, this.#leaving.whenAborted)
  }

  /** The end is sent. If it gets lost with the connection, a server sends it again. */
  async #pay(owed: OwedReply): Promise<void> {
    if ((await this.#connection.flushed?.()) ?? true) await owed.paid()
    owed.release()
  }

  #encode(reply: Reply, told?: Told): ResponseEnvelope {
    const meta = told?.meta?.()
    if (!told || reply.state !== 'error' || reply.fault.kind !== 'removed')
      return replyEnvelope(reply, this.#connection, meta)
    return replyEnvelope({ ...reply, fault: namingRemoved(reply.fault, told.op) }, this.#connection, meta)
  }

  #send(envelope: ResponseEnvelope): void | Promise<void> {
    return this.#connection.send(JSON.stringify(envelope), envelope.requestId)
  }

  #sendFault(thrown: unknown, sent: JsonValue): void | Promise<void> {
    const known = requestIdIn(sent)
    const requestId = known ?? this.#parts.env.newId()
    const refusal = encodeRefusal(explain(thrown, this.#parts.env.log), requestId, sessionIdIn(sent))
    return this.#connection.send(JSON.stringify(refusal), known)
  }
}

/** A later state of the same call has no ticket, because each ticket is told once, and no `meta`. */
function asLaterState({ meta: _meta, ...envelope }: ResponseEnvelope): ResponseEnvelope {
  if (!envelope.stream?.auth) return envelope
  const { auth: _, ...stream } = envelope.stream
  return { ...envelope, stream }
}

async function finishAll(open: ReadonlySet<Promise<void>>): Promise<void> {
  while (open.size > 0) await Promise.all(open)
}

function after(sending: void | Promise<void>, act: () => void): void | Promise<void> {
  return sending ? sending.then(act) : act()
}

function isCanceled(reply: Reply): boolean {
  return reply.state === 'error' && reply.fault.kind === 'canceled'
}
