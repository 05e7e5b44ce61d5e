/** A call with one request message and one response message, such as a unary RPC, as a protocol sees it. */

export interface UnaryCall {
  /** `name` is in lower case. */
  header(name: string): string | undefined
  /** The message as text. */
  readonly text: string
  /** Aborts when the client cancels, or with a fault of kind `timeout` when the deadline passes. */
  readonly signal: AbortSignal
  /** How long the client waits from now on. Absent if the client states no deadline. */
  readonly deadlineMs?: number
}

/**
 * Handlers by path, such as `/package.Service/Method`. A handler returns the response message. The carrier encodes
 * faults.
 */
export type UnaryMethods = ReadonlyMap<string, (call: UnaryCall) => Promise<string>>
