/** Counts the messages of one peer that are on their way to a broker, and tells when none is any more. */
export class OnTheirWay {
  #count = 0
  #isLost = false
  #waiting: ((isKnown: boolean) => void)[] | undefined

  sent(): void {
    this.#count++
  }

  /** `isKnown` is false if the message may or may not have arrived. */
  settled(isKnown: boolean): void {
    this.#count--
    if (!isKnown) this.#isLost = true
    if (this.#count > 0 || !this.#waiting) return
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const told of waiting) told(!this.#isLost)
  }

  /** True if the broker has all of them or has refused them for good. A promise while one is on its way. */
  flushed(): boolean | Promise<boolean> {
    if (this.#count === 0) return !this.#isLost
    return new Promise((resolve) => this.whenFlushed(resolve))
  }

  /** As `flushed`, without a promise. `told` may be called at once. */
  whenFlushed(told: (isKnown: boolean) => void): void {
    if (this.#count === 0) told(!this.#isLost)
    else if (this.#waiting) this.#waiting.push(told)
    else this.#waiting = [told]
  }
}
