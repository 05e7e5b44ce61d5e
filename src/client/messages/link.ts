/** The port between the transport of messages and one connection: a WebSocket, a broker of MQTT or of Kafka. */

export interface OutgoingMessage {
  readonly text: string
  readonly operation: string
  readonly requestId: string
}

export interface Link {
  /**
   * Called before the first message about a request id. Resolves when the replies to it would arrive. Absent if all
   * replies arrive anyway.
   */
  listen?(requestId: string): Promise<void>
  /** No more replies to the request id are wanted. */
  forget?(requestId: string): void
  /** Rejects if the message cannot leave. */
  send(message: OutgoingMessage): void | Promise<void>
  close(): void
}

export interface LinkEvents {
  message(text: string): void
  /** A frame of the stream with this key. `about` is the request id of the stream, if the link knows it. */
  frame(key: string, data: string | Uint8Array<ArrayBuffer>, about?: string): void
  /** Called once. No event follows. */
  lost(why: string): void
}

/** Opens one connection. Rejects with a `CallFault` if it cannot be opened. */
export type OpenLink = (events: LinkEvents) => Promise<Link>
