/** What a server opens and closes: one place where calls come in, whatever moves the bytes. */
export interface Carrier<Where = void> {
  /** Starts to take calls. Resolves with the address, if the carrier has one. Called once. */
  listen(): Promise<Where>
  /** Takes no more calls, lets those in progress end for so long, then cuts what is left. */
  close(graceMs: number): Promise<void>
}
