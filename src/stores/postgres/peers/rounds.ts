/** Collects what is due and exchanges it with the database, one statement at a time. What comes meanwhile shares the next. */

export class Rounds<Item> {
  readonly due = new Set<Item>()
  readonly #exchange: () => Promise<void>
  #round: Promise<void> | undefined
  #scheduled = false
  #ended = false

  /** `exchange` takes items out of `due`. It must not reject. */
  constructor(exchange: () => Promise<void>) {
    this.#exchange = exchange
  }

  get ended(): boolean {
    return this.#ended
  }

  send(item: Item): void {
    this.due.add(item)
    if (this.#scheduled || this.#round || this.#ended) return
    this.#scheduled = true
    // What becomes due in the same turn goes together.
    setImmediate(() => {
      this.#scheduled = false
      this.#round ??= this.#run()
    })
  }

  /** No further round begins. Resolves after the one under way. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#round
  }

  async #run(): Promise<void> {
    while (this.due.size > 0 && !this.#ended) await this.#exchange()
    this.#round = undefined
  }
}
