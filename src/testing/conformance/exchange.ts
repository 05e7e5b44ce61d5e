/** One request to the server under test and what came back. */

export interface HttpAnswer {
  /** Method and path, for messages. */
  asked: string
  /** What was sent, with the credential taken out. */
  sent: { method: string; path: string; headers: Readonly<Record<string, string>>; body: string }
  status: number
  headers: Headers
  bytes: Uint8Array
}
