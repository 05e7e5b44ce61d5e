/**
 * A message connection in memory, with a session at one end and a test at the other. It acknowledges accepted messages.
 */
import type { Presented } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../core/ports/session.ts'
import { Link, MAX_IN_FLIGHT } from '../../wire/messages/link.ts'

export interface MessagePairOptions {
  log: Log
  /** The peer's credential (default: none). */
  peer?: Presented
  /** Default: `http://127.0.0.1:4747`. */
  origin?: string
  /** Limit for one message that the session receives (default: 1 MiB). */
  maxBytes?: number
  /** How many messages the peer may leave unread before the session must wait (default: 16). */
  maxUnread?: number
}

/** The peer's end. */
export interface MessagePair {
  /** Resolves to true if the message was acknowledged. */
  send(message: Message): Promise<boolean>
  /** The next message of the session; `undefined` after the connection has closed and all messages were read. */
  read(): Promise<Message | undefined>
  /** The peer stops sending, but keeps reading. */
  finish(): Promise<void>
  /** The peer disappears. */
  leave(): Promise<void>
  /** The carrier closes. Sent messages can still be read. */
  close(): Promise<void>
}

export function createMessagePair(open: OpenSession, options: MessagePairOptions): MessagePair {
  const { log, origin = 'http://127.0.0.1:4747', maxBytes = 1_048_576, maxUnread = 16 } = options
  const peer = options.peer ?? { header: () => undefined }
  const unread: Message[] = []
  let isClosed = false
  let arrived = Promise.withResolvers<void>()
  let drained: PromiseWithResolvers<void> | undefined
  /** Delivers the peer's messages one after the other, as a connection would. */
  let turn: Promise<void> = Promise.resolve()

  const link = new Link({
    open,
    peer,
    origin,
    log,
    limits: { maxBytes, maxInFlight: MAX_IN_FLIGHT },
    transmit(message) {
      unread.push(message)
      arrived.resolve()
      if (unread.length < maxUnread) return
      drained ??= Promise.withResolvers()
      return drained.promise
    },
  })

  async function end(closing: Promise<void>): Promise<void> {
    await closing
    isClosed = true
    arrived.resolve()
  }

  return {
    async send(message) {
      const before = turn
      const mine = Promise.withResolvers<void>()
      turn = mine.promise
      await before
      await link.room()
      const taking = link.receive(message)
      mine.resolve()
      return taking
    },
    async read() {
      while (unread.length === 0 && !isClosed) {
        arrived = Promise.withResolvers()
        await arrived.promise
      }
      const message = unread.shift()
      if (unread.length < maxUnread) {
        drained?.resolve()
        drained = undefined
      }
      return message
    },
    finish: () => link.finish(),
    leave: () => end(link.leave()),
    close: () => end(link.close()),
  }
}
