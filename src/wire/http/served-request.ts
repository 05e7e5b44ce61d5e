/** A request and what became of it, for the request log. */
export interface ServedRequest {
  readonly method: string
  /** The path, and the query if there is one. */
  readonly target: string
  readonly status: number
  /** On the clock of `performance.now()`. */
  readonly startedAt: number
  /** False if the client left before it had the whole response. */
  readonly finished: boolean
}
