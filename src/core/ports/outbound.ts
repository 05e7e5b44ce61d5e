/** The ports for outbound requests. Rules restrict their targets. */

export interface RemoteAddress {
  address: string
  family: number
}

/**
 * Sends HTTP requests to remote tools. Rules restrict the targets. Connections are kept alive; redirects are not
 * followed.
 */
export interface RemoteClient {
  /** Throws a fault if there is no response, the response is too large, or the target is not allowed. */
  send(request: RemoteRequest): Promise<RemoteAnswer>
  /**
   * The same for a response that is read as a stream. If the connection fails, it rejects with the system's error, as
   * reading the body does, so that the reader handles both in the same way. The reader limits the size of the body.
   */
  open(request: Omit<RemoteRequest, 'maxBytes'>): Promise<RemoteStream>
}

export interface RemoteStream {
  status: number
  /** Names are in lower case. A header that occurs several times has an array of values. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
  body: AsyncIterable<Uint8Array>
  /** Closes the connection without reading the rest. */
  discard(): void
}

export interface RemoteRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string
  /** The maximum size of the response body. */
  maxBytes: number
  /** The operator allows this target to be in a private network or on this machine. */
  allowPrivate?: boolean
  signal: AbortSignal
}

export interface RemoteAnswer {
  status: number
  header(name: string): string | undefined
  text: string
}

/** Fetches attachments that are referenced by URI. Rules restrict the targets. */
export interface Fetcher {
  /** Media type and size as the remote server states them. */
  probe(uri: string, signal: AbortSignal): Promise<{ mimeType?: string; bytes?: number }>
  open(uri: string, maxBytes: number, signal: AbortSignal): AsyncIterable<Uint8Array>
}
