/** Counts what is on its way, and lets senders wait until there is room again. */

export class Room {
  readonly #maxBytes: number
  #maxCount: number
  #count = 0
  #bytes = 0
  #waiting: PromiseWithResolvers<void> | undefined

  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount
    this.#maxBytes = maxBytes
  }

  set maxCount(maxCount: number) {
    this.#maxCount = maxCount
  }

  get isFull(): boolean {
    return this.#count >= this.#maxCount || this.#bytes >= this.#maxBytes
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  enter(bytes: number): void {
    this.#count++
    this.#bytes += bytes
  }

  leave(bytes: number): void {
    this.#count--
    this.#bytes -= bytes
    this.wake()
  }

  /** Resolves when something may have changed. Look again then. */
  change(): Promise<void> {
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  wake(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve()
  }
}
