/** One request to the server under test and its response. */

export interface HttpAnswer {
  /** Method and path, for messages. */
  asked: string
  /** The request, without its credential. */
  sent: { method: string; path: string; headers: Readonly<Record<string, string>>; body: string }
  status: number
  headers: Headers
  bytes: Uint8Array
}
