/**
 * One connection of messages: which reply belongs to which call, by its request id, and which frame to which stream. What
 * it knows ends with it. The server keeps the calls, so the next connection asks for them.
 */
import type { CallFault } from '../fault.ts'
import { isEnvelope } from '../http/envelope.ts'
import { isOver } from '../judge.ts'
import type { Envelope, StreamPlace } from '../options.ts'
import { unreachable } from './envelopes.ts'
import type { Link, LinkEvents, OpenLink, OutgoingMessage } from './link.ts'
import { StreamInbox } from './stream-inbox.ts'

interface Listener {
  note(envelope: Envelope): void
  lost(fault: CallFault): void
}

interface Followed {
  last?: Envelope
  /** True if the server sends every later state of the call on this connection. */
  isWatched: boolean
  readonly listeners: Set<Listener>
}

/** Ends that no one has asked for yet. The server keeps them, too. */
const MAX_ENDS = 1_000
/** Streams whose frames came before the reply that announces them. */
const MAX_EARLY = 100
const MAX_LEFT = 1_000

export interface ConnectionSettings {
  open: OpenLink
  /** Where the frames of a stream arrive. */
  frameKey(place: StreamPlace): string
  /** True if frames can overtake the reply that announces their stream. */
  hasEarlyFrames: boolean
}

export class Connection implements LinkEvents {
  /** The token that the server knows this connection by. */
  shown: string | undefined
  readonly #settings: ConnectionSettings
  readonly #followed = new Map<string, Followed>()
  readonly #ends: string[] = []
  readonly #streams = new Map<string, StreamInbox>()
  /** Streams that are not read any more. Their last frames may still come. */
  readonly #left = new Set<string>()
  #link: Link | undefined
  #lost: CallFault | undefined
  #onLost = () => {}

  private constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  static async open(settings: ConnectionSettings, onLost: () => void): Promise<Connection> {
    const connection = new Connection(settings)
    connection.#link = await settings.open(connection)
    // It can be lost as soon as it is open.
    if (connection.#lost) throw connection.#lost
    connection.#onLost = onLost
    return connection
  }

  /** The last state that the server sent, if the server sends every later one. */
  stateOf(requestId: string): Envelope | undefined {
    const followed = this.#followed.get(requestId)
    return followed?.isWatched ? followed.last : undefined
  }

  isWatched(requestId: string): boolean {
    return this.#followed.get(requestId)?.isWatched ?? false
  }

  /** Resolves when states of this call would arrive. */
  async listen(requestId: string): Promise<void> {
    await this.#follow(requestId)
  }

  /** The server said this state, and sends every later one from now on. An end may have come meanwhile. */
  watched(envelope: Envelope): void {
    const followed = this.#followed.get(envelope.requestId)
    if (!followed) return
    followed.isWatched = !isOver(envelope)
    if (isOver(envelope)) this.forget(envelope.requestId)
    else if (!followed.last || !isOver(followed.last)) followed.last = envelope
  }

  /** Sends a message, and resolves with the next envelope about its request id. */
  async ask(message: OutgoingMessage, signal: AbortSignal | undefined): Promise<Envelope> {
    const { requestId } = message
    const followed = await this.#follow(requestId)
    const reply = this.change(requestId, followed.last, signal)
    // It is handled below, also if sending fails first.
    reply.catch(() => undefined)
    try {
      await this.#link?.send(message)
      const envelope = await reply
      followed.isWatched = !isOver(envelope)
      return envelope
    } finally {
      if (!followed.isWatched) this.forget(requestId)
    }
  }

  async repeat(message: OutgoingMessage): Promise<void> {
    await this.#link?.send(message)
  }

  /** Resolves with a state that is not `before`. */
  change(requestId: string, before: Envelope | undefined, signal: AbortSignal | undefined): Promise<Envelope> {
    const followed = this.#followed.get(requestId)
    if (followed?.last && followed.last !== before) return Promise.resolve(followed.last)
    return new Promise((resolve, reject) => {
      if (this.#lost || !followed) return reject(this.#lost ?? unreachable('The call is not followed any more.'))
      if (signal?.aborted) return reject(signal.reason)
      const end = () => {
        followed.listeners.delete(listener)
        signal?.removeEventListener('abort', leave)
      }
      const listener: Listener = {
        note(envelope) {
          end()
          resolve(envelope)
        },
        lost(fault) {
          end()
          reject(fault)
        },
      }
      const leave = () => {
        end()
        reject(signal?.reason)
      }
      followed.listeners.add(listener)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  forget(requestId: string): void {
    if (this.#followed.get(requestId)?.listeners.size !== 0) return
    this.#followed.delete(requestId)
    this.#link?.forget?.(requestId)
  }

  /** The frames of a stream that was announced on this connection. */
  inboxOf(place: StreamPlace): StreamInbox | undefined {
    return this.#streams.get(this.#settings.frameKey(place))
  }

  leaveStream(place: StreamPlace): void {
    const key = this.#settings.frameKey(place)
    this.#streams.delete(key)
    this.#left.add(key)
    for (const oldest of this.#left) if (this.#left.size > MAX_LEFT) this.#left.delete(oldest)
  }

  message(text: string): void {
    const envelope = parse(text)
    const followed = envelope && this.#followed.get(envelope.requestId)
    if (!followed) return
    followed.last = envelope
    if (envelope.stream && !followed.isWatched) this.#announce(envelope.stream, envelope.requestId)
    if (isOver(envelope)) this.#noteEnd(envelope, followed)
    for (const listener of [...followed.listeners]) listener.note(envelope)
  }

  frame(key: string, data: string | Uint8Array<ArrayBuffer>, about?: string): void {
    if (this.#left.has(key) || (about !== undefined && !this.#followed.has(about))) return
    if (this.#settings.hasEarlyFrames) this.#inbox(key).add(data)
    else this.#streams.get(key)?.add(data)
  }

  lost(why: string): void {
    this.end(unreachable(why))
  }

  /** Ends the connection, and everything that waits for it. */
  end(fault: CallFault): void {
    if (this.#lost) return
    this.#lost = fault
    this.#link?.close()
    this.#onLost()
    for (const { listeners } of this.#followed.values()) for (const listener of [...listeners]) listener.lost(fault)
    for (const inbox of this.#streams.values()) inbox.end(undefined)
    this.#followed.clear()
    this.#streams.clear()
  }

  async #follow(requestId: string): Promise<Followed> {
    const known = this.#followed.get(requestId)
    if (known) return known
    const followed: Followed = { isWatched: false, listeners: new Set() }
    this.#followed.set(requestId, followed)
    await this.#link?.listen?.(requestId)
    if (this.#lost) throw this.#lost
    return followed
  }

  #noteEnd(envelope: Envelope, { listeners }: Followed): void {
    for (const inbox of this.#streams.values()) if (inbox.requestId === envelope.requestId) inbox.end(envelope)
    if (listeners.size > 0) return
    this.#ends.push(envelope.requestId)
    if (this.#ends.length > MAX_ENDS) this.forget(this.#ends.shift() as string)
  }

  #announce(place: StreamPlace, requestId: string): void {
    const key = this.#settings.frameKey(place)
    this.#left.delete(key)
    this.#inbox(key).requestId = requestId
  }

  #inbox(key: string): StreamInbox {
    const known = this.#streams.get(key)
    if (known) return known
    const inbox = new StreamInbox()
    this.#streams.set(key, inbox)
    const early = [...this.#streams].filter(([, { requestId }]) => requestId === undefined)
    if (early.length > MAX_EARLY) this.#streams.delete(early[0]?.[0] as string)
    return inbox
  }
}

/** `undefined` if it is no envelope. A broker brings what others write, too. */
function parse(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isEnvelope(value) ? value : undefined
  } catch {
    return undefined
  }
}
