/** Gives each name once. A name that is taken gets a number: `item`, `item2`, `item3`. */
export class FreeNames {
  readonly #taken: Set<string>
  /** The number to try next, so that many equal wishes take linear time. */
  readonly #next = new Map<string, number>()

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken)
  }

  take(wish: string): string {
    let name = wish
    for (let number = this.#next.get(wish) ?? 2; this.#taken.has(name); number++) {
      name = `${wish}${number}`
      this.#next.set(wish, number + 1)
    }
    this.#taken.add(name)
    return name
  }
}
