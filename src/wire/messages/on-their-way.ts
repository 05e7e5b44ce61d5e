/** Counts the messages of one peer that are on their way to a broker, and tells when none is any more. */
export class OnTheirWay {
  #count = 0
  #isLost = false
  #waiting: PromiseWithResolvers<boolean> | undefined

  sent(): void {
    this.#count++
  }

  /** `isKnown` is false if the message may or may not have arrived. */
  settled(isKnown: boolean): void {
    this.#count--
    if (!isKnown) this.#isLost = true
    if (this.#count > 0) return
    this.#waiting?.resolve(!this.#isLost)
    this.#waiting = undefined
  }

  /** True if the broker has all of them or has refused them for good. A promise while one is on its way. */
  flushed(): boolean | Promise<boolean> {
    if (this.#count === 0) return !this.#isLost
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }
}
