/** Accepts calls over one transport. A server opens and closes its carriers. */
export interface Carrier<Where = void> {
  /** Starts to accept calls. Resolves with the address, if the carrier has one. Called once. */
  listen(): Promise<Where>
  /** Accepts no more calls, waits up to `graceMs` for those in progress, then aborts the rest. */
  close(graceMs: number): Promise<void>
}
