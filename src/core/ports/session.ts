/**
 * The port between a carrier of messages (standard input, WebSocket, MQTT, Kafka, a data channel, a QUIC stream) and a
 * protocol that lives on messages. The carrier opens one session for each peer. On a broker a peer is a reply address,
 * so a carrier may open a session for each message and finish it at once.
 */
import type { Fault } from '../fault.ts'
import type { Presented } from './guard.ts'

/** Text or bytes, as the carrier received it. */
export type Message = string | Uint8Array

/** The carrier's half: the connection to one peer. */
export interface Connection {
  /** What the peer presented when it connected. Empty where the carrier has no credentials of its own. */
  readonly peer: Presented
  /** `http://host:port` where the peer reaches this server over HTTP, for absolute addresses. */
  readonly origin: string
  /** Aborts when the peer is gone or the connection has closed. Messages sent after that are discarded. */
  readonly signal: AbortSignal
  /**
   * Sends one message. Messages leave in the order of the calls. The promise never rejects; it resolves when the
   * carrier has room for the next message. A session waits for it before it sends more of the same call: that bounds
   * what is buffered. `about` names what the message belongs to, such as a request id, for carriers that build a
   * topic or a key from it.
   */
  send(message: Message, about?: string): Promise<void>
}

/** The protocol's half. */
export interface Session {
  /**
   * Takes one message. Several may be in progress. The promise resolves when the carrier may acknowledge the message:
   * the call is recorded, or the message needs no further care because it was answered or refused. It rejects when the
   * message must be delivered again. A malformed message is answered, never thrown.
   */
  receive(message: Message): void | Promise<void>
  /** The carrier could not take a message, for example because it is too large. The session tells the peer. */
  refuse(fault: Fault): void | Promise<void>
  /**
   * The peer sends no more, and still reads. Resolves when everything received has been answered, or when the session
   * has waited long enough.
   */
  finish(): Promise<void>
  /** The connection ends. Work that only this peer waits for stops; recorded calls go on. Called once. */
  close(): Promise<void>
}

export type OpenSession = (connection: Connection) => Session
