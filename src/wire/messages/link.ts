/**
 * One session on one connection, for every message carrier: sends in order with back-pressure, bounds received
 * messages, and ends once. The carrier moves the bytes: it provides `transmit`, calls `receive` for each message, and
 * stops reading while `room` returns a promise.
 */
import type { ReplyAddress } from '../../core/call/reply-address.ts'
import type { Fault } from '../../core/fault.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Connection, Message, OpenSession, Session } from '../../core/ports/session.ts'
import { LateSignal } from '../late-signal.ts'
import { isLargerThan, messageTooLarge } from './text.ts'

export interface MessageLimits {
  /** Maximum size of one received message. */
  maxBytes: number
  /** How many received messages may wait for their acknowledgement. */
  maxInFlight: number
}

/** Enough for a client that sends in bursts; each costs the memory of its message and of its call. */
export const MAX_IN_FLIGHT = 1_000

export interface LinkParts
  extends Pick<Connection, 'frames' | 'subject' | 'lossy' | 'identified' | 'replyTo' | 'flushed'> {
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

const DONE = Promise.resolve()

/** It is the connection of its session itself: a broker's carrier has one for each message. */
export class Link implements Connection {
  readonly #parts: LinkParts
  readonly #session: Session
  readonly #gone = new LateSignal()
  /** The last message that waits for the transport; absent while the transport has room. */
  #lastSend: Promise<void> | undefined
  #inFlight = 0
  #room: PromiseWithResolvers<void> | undefined
  #closing: Promise<void> | undefined

  /** For the session, which may pass it on without the connection. */
  readonly send = (message: Message, about?: string): void | Promise<void> => {
    const before = this.#lastSend
    const sending = before ? before.then(() => this.#transmit(message, about)) : this.#transmit(message, about)
    if (!sending) return
    const last = sending.then(() => {
      if (this.#lastSend === last) this.#lastSend = undefined
      this.#wake()
    })
    this.#lastSend = last
    return last
  }

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.#session = parts.open(this)
  }

  get peer(): Presented {
    return this.#parts.peer
  }

  get origin(): string {
    return this.#parts.origin
  }

  get frames(): StreamTransport | undefined {
    return this.#parts.frames
  }

  get subject(): string | undefined {
    return this.#parts.subject
  }

  get lossy(): boolean | undefined {
    return this.#parts.lossy
  }

  get identified(): (() => void) | undefined {
    return this.#parts.identified
  }

  get replyTo(): ReplyAddress | undefined {
    return this.#parts.replyTo
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /**
   * True if the carrier may acknowledge this message. A promise if that is not known yet. Never throws or rejects: an
   * error in the session is logged. `id` returns the same each time the carrier delivers the message.
   */
  receive(message: Message, id?: () => string): boolean | Promise<boolean> {
    const { limits } = this.#parts
    if (isLargerThan(message, limits.maxBytes)) return this.refuse(messageTooLarge(limits.maxBytes))
    return this.#take(() => this.#session.receive(message, id))
  }

  /** Tells the peer why its message was refused. `message` is the refused one, if the session shall read it. */
  refuse(fault: Fault, message?: Message): boolean | Promise<boolean> {
    return this.#take(() => this.#session.refuse(fault, message))
  }

  /** A promise while the peer must wait: it reads too slowly, or too many of its messages are in progress. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom()) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** True when nothing sent is on its way any more. False if the connection ended first. */
  flushed(): boolean | Promise<boolean> {
    if (this.#lastSend) return this.#lastSend.then(() => this.flushed())
    if (this.#gone.isAborted) return false
    const flushing = this.#parts.flushed?.() ?? true
    if (typeof flushing === 'boolean') return flushing
    return Promise.race([flushing, this.#gone.whenAborted.then(() => false)])
  }

  /** The peer sends no more messages. Resolves after the last response, or when the peer has disconnected. */
  finish(): Promise<void> {
    return this.#finishSession() ?? DONE
  }

  /**
   * Finishes and closes. Returns a promise only if there is something to wait for: a broker's carrier has a link for each
   * message, and most calls have ended when their message is taken.
   */
  end(): void | Promise<void> {
    const finishing = this.#finishSession()
    if (finishing) return finishing.then(() => this.close())
    const closing = this.close()
    if (closing !== DONE) return closing
  }

  /** The peer has disconnected: discards messages that wait to be sent, and closes the session. */
  leave(): Promise<void> {
    this.#gone.abort()
    return this.close()
  }

  /** Closes the session and sends its queued messages until `cut` aborts. */
  close(cut?: AbortSignal): Promise<void> {
    if (!this.#closing) {
      this.#closing = this.#close(cut)
      this.#wake()
    }
    return this.#closing
  }

  #finishSession(): void | Promise<void> {
    const failed = (err: unknown) => this.#parts.log.error({ err }, 'could not finish a session')
    try {
      const finishing = this.#session.finish()
      return finishing && Promise.race([finishing, this.#gone.whenAborted]).catch(failed)
    } catch (err) {
      failed(err)
    }
  }

  #close(cut: AbortSignal | undefined): Promise<void> {
    if (cut?.aborted) this.#gone.abort()
    const failed = (err: unknown) => this.#parts.log.error({ err }, 'could not close a session')
    let closing: Promise<void> | undefined
    try {
      closing = this.#session.close()?.catch(failed)
    } catch (err) {
      failed(err)
    }
    if (closing || this.#lastSend) return this.#drain(closing, cut)
    this.#gone.abort()
    return DONE
  }

  async #drain(closing: Promise<void> | undefined, cut: AbortSignal | undefined): Promise<void> {
    const abandon = () => this.#gone.abort()
    cut?.addEventListener('abort', abandon, { once: true })
    await closing
    while (this.#lastSend) await this.#lastSend
    cut?.removeEventListener('abort', abandon)
    this.#gone.abort()
  }

  #take(act: () => void | Promise<void>): boolean | Promise<boolean> {
    if (this.#closing) return false
    try {
      const taking = act()
      return taking ? this.#taken(taking) : true
    } catch (err) {
      return this.#notTaken(err)
    }
  }

  async #taken(taking: Promise<void>): Promise<boolean> {
    this.#inFlight++
    try {
      await taking
      return true
    } catch (err) {
      return this.#notTaken(err)
    } finally {
      this.#inFlight--
      this.#wake()
    }
  }

  #notTaken(err: unknown): false {
    this.#parts.log.error({ err }, 'could not process a message')
    return false
  }

  /** Never throws. Also settles when the peer has disconnected. */
  #transmit(message: Message, about: string | undefined): Promise<void> | undefined {
    if (this.#gone.isAborted) return undefined
    try {
      const full = this.#parts.transmit(message, about)
      if (!full) return undefined
      return Promise.race([full, this.#gone.whenAborted]).catch((thrown: unknown) => this.#break(thrown))
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
