/** Requests that leave this server, under rules about where they may go. */

export interface RemoteAddress {
  address: string
  family: number
}

/** Speaks HTTP with remote tools, under rules about where it may go. Connections are kept; redirects are not followed. */
export interface RemoteClient {
  /** Throws a fault if there is no answer, it is too large, or the target is not allowed. */
  send(request: RemoteRequest): Promise<RemoteAnswer>
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
