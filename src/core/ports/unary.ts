/** What a protocol sees of a call that is one message in and one message out, such as a unary RPC. */

export interface UnaryCall {
  /** Lower-case name. */
  header(name: string): string | undefined
  /** The message as text. */
  readonly text: string
  /** Aborts when the client cancels, or with a fault of kind `timeout` when its time is over. */
  readonly signal: AbortSignal
  /** How long the client waits from now on, where it says so. */
  readonly deadlineMs?: number
}

/** By path, such as `/package.Service/Method`. The answer is a message; a fault is the carrier's to word. */
export type UnaryMethods = ReadonlyMap<string, (call: UnaryCall) => Promise<string>>
