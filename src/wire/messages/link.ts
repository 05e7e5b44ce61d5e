/**
 * One session on one connection, for every message carrier: sends in order with back-pressure, bounds received
 * messages, and ends once. The carrier moves the bytes: it provides `transmit`, calls `receive` for each message, and
 * stops reading while `room` returns a promise.
 */
import type { Fault } from '../../core/fault.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Connection, Message, OpenSession, Session } from '../../core/ports/session.ts'
import { isLargerThan, messageTooLarge } from './text.ts'

export interface MessageLimits {
  /** Maximum size of one received message. */
  maxBytes: number
  /** How many received messages may wait for their acknowledgement. */
  maxInFlight: number
}

/** Enough for a client that sends in bursts; each costs the memory of its message and of its call. */
export const MAX_IN_FLIGHT = 1_000

export interface LinkParts extends Pick<Connection, 'frames' | 'subject' | 'lossy' | 'replyTo' | 'flushed'> {
  open: OpenSession
  peer: Presented
  origin: string
  /**
   * Hands one message to the transport. Returns a promise while the transport is full; it resolves when there is room
   * again. A throw means that the transport is broken.
   */
  transmit(message: Message, about?: string): void | Promise<void>
  limits: MessageLimits
  log: Log
}

const SENT = Promise.resolve()

export class Link {
  readonly #parts: LinkParts
  readonly #session: Session
  readonly #gone = new AbortController()
  readonly #left: Promise<void>
  /** The last message that waits for the transport; absent while the transport has room. */
  #lastSend: Promise<void> | undefined
  #inFlight = 0
  #room: PromiseWithResolvers<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: LinkParts) {
    const { peer, origin, open, frames, subject, lossy, replyTo, flushed } = parts
    const { signal } = this.#gone
    this.#parts = parts
    this.#left = new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    this.#session = open({
      peer,
      origin,
      signal,
      send: (message, about) => this.#send(message, about),
      ...(frames && { frames }),
      ...(subject !== undefined && { subject }),
      ...(lossy !== undefined && { lossy }),
      ...(replyTo && { replyTo }),
      ...(flushed && { flushed: () => this.flushed() }),
    })
  }

  /**
   * Resolves to true if the carrier may acknowledge this message. Never rejects: an error in the session is logged. `id`
   * is the same each time the carrier delivers the message.
   */
  async receive(message: Message, id?: string): Promise<boolean> {
    const { limits } = this.#parts
    if (isLargerThan(message, limits.maxBytes)) return this.refuse(messageTooLarge(limits.maxBytes))
    return this.#take(() => this.#session.receive(message, id))
  }

  /** Tells the peer why its message was refused. `message` is the refused one, if the session shall read it. */
  refuse(fault: Fault, message?: Message): Promise<boolean> {
    return this.#take(() => this.#session.refuse(fault, message))
  }

  /** A promise while the peer must wait: it reads too slowly, or too many of its messages are in progress. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom()) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** True when nothing sent is on its way any more. False if the connection ended first. */
  async flushed(): Promise<boolean> {
    while (this.#lastSend) await this.#lastSend
    if (this.#gone.signal.aborted) return false
    return Promise.race([this.#parts.flushed?.() ?? true, this.#left.then(() => false)])
  }

  /** The peer sends no more messages. Resolves after the last response, or when the peer has disconnected. */
  async finish(): Promise<void> {
    try {
      await Promise.race([this.#session.finish(), this.#left])
    } catch (err) {
      this.#parts.log.error({ err }, 'could not finish a session')
    }
  }

  /** The peer has disconnected: discards messages that wait to be sent, and closes the session. */
  leave(): Promise<void> {
    this.#gone.abort()
    return this.close()
  }

  /** Closes the session and sends its queued messages until `cut` aborts. */
  close(cut?: AbortSignal): Promise<void> {
    if (!this.#closing) {
      this.#closing = this.#end(cut)
      this.#wake()
    }
    return this.#closing
  }

  async #end(cut: AbortSignal | undefined): Promise<void> {
    const abandon = () => this.#gone.abort()
    if (cut?.aborted) abandon()
    cut?.addEventListener('abort', abandon, { once: true })
    try {
      await this.#session.close()
    } catch (err) {
      this.#parts.log.error({ err }, 'could not close a session')
    }
    while (this.#lastSend) await this.#lastSend
    cut?.removeEventListener('abort', abandon)
    this.#gone.abort()
  }

  async #take(act: () => void | Promise<void>): Promise<boolean> {
    if (this.#closing) return false
    try {
      const taking = act()
      if (!taking) return true
      this.#inFlight++
      try {
        await taking
      } finally {
        this.#inFlight--
        this.#wake()
      }
      return true
    } catch (err) {
      this.#parts.log.error({ err }, 'could not process a message')
      return false
    }
  }

  #send(message: Message, about: string | undefined): Promise<void> {
    const before = this.#lastSend
    const sending = before ? before.then(() => this.#transmit(message, about)) : this.#transmit(message, about)
    if (!sending) return SENT
    const last = sending.then(() => {
      if (this.#lastSend === last) this.#lastSend = undefined
      this.#wake()
    })
    this.#lastSend = last
    return last
  }

  /** Never throws. Also settles when the peer has disconnected. */
  #transmit(message: Message, about: string | undefined): Promise<void> | undefined {
    if (this.#gone.signal.aborted) return undefined
    try {
      const full = this.#parts.transmit(message, about)
      if (!full) return undefined
      return Promise.race([full, this.#left]).catch((thrown: unknown) => this.#break(thrown))
    } catch (thrown) {
      this.#break(thrown)
      return undefined
    }
  }

  #break(err: unknown): void {
    this.#parts.log.debug({ err }, 'a connection failed')
    void this.leave()
  }

  #hasRoom(): boolean {
    if (this.#closing) return true
    return this.#lastSend === undefined && this.#inFlight < this.#parts.limits.maxInFlight
  }

  #wake(): void {
    if (!this.#room || !this.#hasRoom()) return
    const { resolve } = this.#room
    this.#room = undefined
    resolve()
  }
}
