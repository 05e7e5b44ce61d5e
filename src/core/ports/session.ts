/**
 * The port between a message carrier (standard input, WebSocket, MQTT, Kafka, a data channel, a QUIC stream) and a
 * message-based protocol. The carrier opens one session for each peer. On a broker a peer is a reply address, so a
 * carrier may open a session for each message and finish it at once.
 */
import type { ReplyAddress } from '../call/reply-address.ts'
import type { Fault } from '../fault.ts'
import type { StreamTransport } from './frames.ts'
import type { Presented } from './guard.ts'

/** Text or bytes, as the carrier received it. */
export type Message = string | Uint8Array

/** The carrier's half: the connection to one peer. Members may be getters of a class, which a spread would not copy. */
export interface Connection {
  /** The credentials that the peer presented when it connected. Empty if the carrier has no credentials of its own. */
  readonly peer: Presented
  /** `http://host:port` at which the peer reaches this server over HTTP, for absolute URLs. */
  readonly origin: string
  /** Aborts when the peer is gone or the connection has closed. Messages sent after that are discarded. */
  readonly signal: AbortSignal
  /**
   * Sends one message. Messages leave in the order of the calls. It returns a promise while the carrier has no room for
   * the next message. The promise never rejects. A session waits for it before it sends more of the same call, which
   * bounds the buffer. `about` names the subject of the message, such as a request id, for carriers that build a topic or a
   * key from it. Absent if the peer's message named none: then the peer may not recognize the response.
   */
  send(message: Message, about?: string): void | Promise<void>
  /**
   * Carries the frames of streams on this connection, or beside it. Absent if the connection carries messages only. The
   * frames of a stream leave after the message about its request id.
   */
  readonly frames?: StreamTransport | undefined
  /**
   * The subject that the address of the peer's messages names, such as the last level of a topic. Access rules of a
   * broker go by the address, so a session refuses a message about another subject.
   */
  readonly subject?: string | undefined
  /** True if messages of the peer may get lost on their way. A session then refuses calls that have side effects. */
  readonly lossy?: boolean | undefined
  /** A session calls it when it has identified the peer by a message. Absent if the carrier need not know. */
  readonly identified?: (() => void) | undefined
  /**
   * Where the peer can be reached after this connection is gone. Absent if it cannot. A session stores it with the calls
   * that the peer makes.
   */
  readonly replyTo?: ReplyAddress | undefined
  /**
   * True when no sent message is on its way any more: the broker has it, or has refused it for good. False if the
   * connection ended first. A promise while a message is on its way. Absent if the carrier does not know.
   */
  flushed?(): boolean | Promise<boolean>
}

/** The protocol's half. */
export interface Session {
  /**
   * Handles one message. Several may be in progress. The promise resolves when the carrier may acknowledge the message:
   * the call is recorded, or the session has responded to the message or refused it. It rejects when the message must
   * be delivered again. Without a promise, the message may be acknowledged at once. The
   * session responds to a malformed message and does not throw. `id` identifies the message if the carrier may deliver it
   * again: it returns the same each time, so that a request without an id of its own is the same request each time.
   */
  receive(message: Message, id?: () => string): void | Promise<void>
  /**
   * The carrier could not accept a message, for example because it is too large. The session tells the peer. `message`
   * is the refused one, if it is worth reading: the response then names its subject.
   */
  refuse(fault: Fault, message?: Message): void | Promise<void>
  /**
   * The peer sends no more messages, but still reads. Resolves when the session has responded to all messages, or when
   * its waiting time is over. No promise: it has responded to all.
   */
  finish(): void | Promise<void>
  /** The connection ends. Work that only this peer waits for stops; recorded calls continue. Called once. */
  close(): void | Promise<void>
}

export type OpenSession = (connection: Connection) => Session
