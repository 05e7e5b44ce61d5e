/** Requests that leave this server, under rules about where they may go. */

export interface RemoteAddress {
  address: string
  family: number
}

/** Speaks HTTP with remote tools, under rules about where it may go. Connections are kept; redirects are not followed. */
export interface RemoteClient {
  /** Throws a fault if there is no answer, it is too large, or the target is not allowed. */
  send(request: RemoteRequest): Promise<RemoteAnswer>
  /**
   * The same for an answer that is read while it comes. A connection that fails rejects with the system's error, as
   * reading the body does, so that the reader explains both alike. The reader bounds the body.
   */
  open(request: Omit<RemoteRequest, 'maxBytes'>): Promise<RemoteStream>
}

export interface RemoteStream {
  status: number
  /** Names in lower case. A header that came several times has several texts. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
  body: AsyncIterable<Uint8Array>
  /** Lets go of the connection; nothing more is read. */
  discard(): void
}

export interface RemoteRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string
  /** Of the answer's body. */
  maxBytes: number
  /** The operator has said that this one may be in a private network or on this machine. */
  allowPrivate?: boolean
  signal: AbortSignal
}

export interface RemoteAnswer {
  status: number
  header(name: string): string | undefined
  text: string
}

/** Fetches attachments that are named by URI, under rules about where it may go. */
export interface Fetcher {
  /** Type and size as the other side states them. */
  probe(uri: string, signal: AbortSignal): Promise<{ mimeType?: string; bytes?: number }>
  open(uri: string, maxBytes: number, signal: AbortSignal): AsyncIterable<Uint8Array>
}
