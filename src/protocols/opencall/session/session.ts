/**
 * OpenCALL on a message connection. Each message has one envelope, and calls run concurrently. The server sends every
 * later state of a call as a further envelope. Built-in operations replace the HTTP addresses.
 * docs/readings.md#r33, #r34 and #r35.
 */
import type { Caller } from '../../../core/call/caller.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import type { Calls, OwedReply, ReadWish } from '../../../core/ports/calls.ts'
import type { StreamTransports } from '../../../core/ports/frames.ts'
import type { Identify, Presented, PresentedAuth } from '../../../core/ports/guard.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Connection, Message, OpenSession, Session } from '../../../core/ports/session.ts'
import { explain } from '../../../wire/explain.ts'
import { readText } from '../../../wire/messages/text.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import { replyEnvelope } from '../addresses.ts'
import { chunkWithData, decodeCall, decodeCursor, encodeChunk, encodeRefusal, referencedMedia } from '../codec.ts'
import { parseEnvelope, requestIdIn, sessionIdIn } from '../envelope.ts'
import { namingRemoved } from '../faults.ts'
import { readWish } from '../stream-wish.ts'
import type { RequestEnvelope, ResponseEnvelope } from '../wire.ts'
import { presentedWith } from './credentials.ts'
import { addressedToAnother, needsAuth, readLeniently, refuseEffects, requireIdentity } from './refusals.ts'

export interface OpenCallSessionSettings {
  /** True to follow the specification literally, without the lenient readings. */
  strict: boolean
  /**
   * True if the carrier redelivers a message until it is acknowledged. Then every call is recorded, and a message that
   * the server cannot process now is not acknowledged.
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

export function createOpenCallSessions(parts: OpenCallSessionParts): OpenSession {
  return (connection) => new OpenCallSession(parts, connection)
}

/** On message connections these names are reserved for the protocol. */
const BUILT_IN = { get: 'v1:getOperation', cancel: 'v1:cancelOperation', chunk: 'v1:getChunk' } as const

class OpenCallSession implements Session {
  readonly #parts: OpenCallSessionParts
  readonly #connection: Connection
  readonly #readWish: ReadWish
  readonly #leaving = new AbortController()
  readonly #open = new Set<Promise<void>>()
  /** Request ids of the calls whose later states are sent. */
  readonly #watched = new Set<string>()
  /** The last accepted `auth` block. It also applies to later envelopes, so that a peer can refresh its token. */
  #auth: PresentedAuth | undefined
  #checking: Promise<void> | undefined

  constructor(parts: OpenCallSessionParts, connection: Connection) {
    this.#parts = parts
    this.#connection = connection
    this.#readWish = readWish(parts.transports, connection.frames)
  }

  /** Resolves when the call is recorded, or when the response is sent if the call needs no record. */
  receive(message: Message, id?: string): Promise<void> {
    const taken = Promise.withResolvers<void>()
    this.#track(this.#handle(message, id, taken.resolve).then(taken.resolve, taken.reject))
    return taken.promise
  }

  refuse(fault: Fault, message?: Message): Promise<void> {
    return this.#sendFault(fault, message === undefined ? null : readLeniently(message))
  }

  async finish(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  async close(): Promise<void> {
    this.#leaving.abort()
    await this.finish()
  }

  /** A carrier redelivers only what it cannot lose. */
  get #redelivers(): boolean {
    return this.#parts.settings.redelivers === true && !this.#connection.lossy
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#open.delete(tracked))
    this.#open.add(tracked)
  }

  async #handle(message: Message, id: string | undefined, recorded: () => void): Promise<void> {
    let sent: JsonValue = null
    let isRecorded = false
    try {
      sent = parseJsonText(readText(message))
      const { strict, requiresAuth } = this.#parts.settings
      const envelope = parseEnvelope(sent, strict)
      if (requiresAuth && !envelope.auth) throw needsAuth()
      const { subject = envelope.op } = this.#connection
      if (subject !== envelope.op) throw addressedToAnother(subject)
      const requestId = envelope.ctx.requestId ?? id ?? this.#parts.env.newId()
      const identify = this.#identify(envelope)
      const answer = this.#builtIn(envelope, requestId, identify)
      if (answer) return await this.#send(await answer)
      if (this.#redelivers && id === undefined) requireIdentity(envelope)
      await this.#call(envelope, requestId, identify, () => {
        isRecorded = true
        recorded()
      })
    } catch (thrown) {
      const fault = Fault.from(thrown)
      // A redelivery may reach a server whose storage works, or one that is not shutting down.
      if (this.#redelivers && !isRecorded && fault.kind === 'unavailable') throw fault
      await this.#sendFault(fault, sent)
    }
  }

  /**
   * Envelopes without `auth` wait until an earlier `auth` is checked, so that a peer need not wait for its first
   * response.
   */
  #identify({ auth }: RequestEnvelope): Identify {
    const { peer } = this.#connection
    const identify = async (block: PresentedAuth | undefined) => this.#parts.identify(presentedWith(peer, block))()
    if (!auth) {
      const checking = this.#checking
      if (!checking) return this.#parts.identify(presentedWith(peer, this.#auth))
      return () => checking.then(() => identify(this.#auth))
    }
    const identified = identify(auth)
    const before = this.#checking
    const checking = Promise.allSettled([identified, before]).then(([{ status }]) => {
      if (status === 'fulfilled') this.#auth = auth
      if (this.#checking === checking) this.#checking = undefined
    })
    this.#checking = checking
    return () => identified
  }

  async #call(envelope: RequestEnvelope, requestId: string, identify: Identify, recorded: () => void): Promise<void> {
    const { calls } = this.#parts
    const { signal } = this.#leaving
    const { origin, lossy, replyTo } = this.#connection
    let caller: Caller | undefined
    const known = async () => {
      caller = await identify()
      return caller
    }
    if (lossy) refuseEffects(await calls.admit(envelope.op, known))
    const call = decodeCall(envelope, requestId, referencedMedia(envelope.media))
    const client = { signal, origin }
    const owed = replyTo && calls.oweReply(replyTo)
    try {
      const reply = await calls.call(call, known, {
        client,
        hold: true,
        durable: this.#redelivers,
        stream: this.#readWish,
        recorded,
        ...(owed && { owed }),
      })
      const first = this.#encode(reply, envelope.op)
      await this.#send(first)
      if (!hasEnded(reply)) this.#push(requestId, caller, first, owed)
      else if (owed?.isKept) this.#track(this.#pay(owed))
    } catch (thrown) {
      owed?.release()
      throw thrown
    }
  }

  /** Sends every later state of a call once, also if the peer asks for it several times. */
  #push(requestId: string, caller: Caller | undefined, first: ResponseEnvelope, owed?: OwedReply): void {
    if (this.#watched.has(requestId)) {
      owed?.release()
      return
    }
    this.#watched.add(requestId)
    this.#track(this.#watch(requestId, caller, first, owed).finally(() => this.#watched.delete(requestId)))
  }

  async #watch(
    requestId: string,
    caller: Caller | undefined,
    first: ResponseEnvelope,
    owed: OwedReply | undefined,
  ): Promise<void> {
    const { signal } = this.#leaving
    let last = JSON.stringify(withoutTicket(first))
    try {
      let isEnd = false
      for await (const reply of this.#parts.calls.watch(caller, requestId, signal)) {
        const envelope = this.#encode(reply)
        const text = JSON.stringify(envelope)
        if (text !== last && !signal.aborted) await this.#connection.send(text, requestId)
        last = text
        isEnd = hasEnded(reply) && !signal.aborted
      }
      if (isEnd && owed) await this.#pay(owed)
    } catch (thrown) {
      await this.#send(encodeRefusal(explain(thrown, this.#parts.env.log), requestId, first.sessionId))
    } finally {
      owed?.release()
    }
  }

  /** The end is sent. If it gets lost with the connection, a server sends it again. */
  async #pay(owed: OwedReply): Promise<void> {
    const { flushed } = this.#connection
    if (!flushed || (await flushed())) await owed.paid()
    owed.release()
  }

  /** Response of a built-in operation: state `complete`, with the envelope of the other call as its result. */
  #builtIn(envelope: RequestEnvelope, requestId: string, identify: Identify): Promise<ResponseEnvelope> | undefined {
    const { op, args } = envelope
    const { calls } = this.#parts
    const answer = async (act: (caller: Caller | undefined, target: string) => Promise<object>) => {
      const target = targetOf(args)
      const result = (await act(await identify(), target)) as JsonObject
      const { sessionId } = envelope.ctx
      return { requestId, ...(sessionId !== undefined && { sessionId }), state: 'complete' as const, result }
    }
    switch (op) {
      case BUILT_IN.get:
        return answer(async (caller, target) => {
          const reply = await calls.poll(caller, target)
          const found = this.#encode(reply)
          if (args.watch === true && !hasEnded(reply)) this.#push(target, caller, found)
          return found
        })
      case BUILT_IN.cancel:
        return answer(async (caller, target) => this.#encode(await calls.cancel(caller, target)))
      case BUILT_IN.chunk:
        return answer(async (caller, target) => {
          const position = () => decodeCursor(cursorIn(args))
          const reply = await calls.chunk(caller, target, position)
          const chunk = encodeChunk(reply, position())
          return reply.chunk ? chunkWithData(chunk, reply.chunk.bytes, this.#parts.env.base64) : chunk
        })
      default:
        return undefined
    }
  }

  #encode(reply: Reply, op?: string): ResponseEnvelope {
    if (op === undefined || reply.state !== 'error' || reply.fault.kind !== 'removed')
      return replyEnvelope(reply, this.#connection)
    return replyEnvelope({ ...reply, fault: namingRemoved(reply.fault, op) }, this.#connection)
  }

  #send(envelope: ResponseEnvelope): Promise<void> {
    return this.#connection.send(JSON.stringify(envelope), envelope.requestId)
  }

  #sendFault(thrown: unknown, sent: JsonValue): Promise<void> {
    const known = requestIdIn(sent)
    const requestId = known ?? this.#parts.env.newId()
    const refusal = encodeRefusal(explain(thrown, this.#parts.env.log), requestId, sessionIdIn(sent))
    return this.#connection.send(JSON.stringify(refusal), known)
  }
}

/** A later state of the same stream has no ticket, because each ticket is told once. */
function withoutTicket(envelope: ResponseEnvelope): ResponseEnvelope {
  if (!envelope.stream?.auth) return envelope
  const { auth: _, ...stream } = envelope.stream
  return { ...envelope, stream }
}

function hasEnded({ state }: Reply): boolean {
  return state === 'complete' || state === 'error'
}

function targetOf({ requestId }: JsonObject): string {
  if (typeof requestId === 'string') return requestId
  throw new Fault('invalid-input', 'Set "args.requestId" to the request id of the call.', {
    details: { field: 'args.requestId' },
  })
}

function cursorIn({ cursor }: JsonObject): string | undefined {
  if (cursor === undefined || typeof cursor === 'string') return cursor
  throw new Fault('malformed', '"args.cursor" must be a string: the cursor of the last chunk.', {
    code: 'INVALID_CURSOR',
  })
}
