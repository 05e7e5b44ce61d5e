/** Gives each name once. A name that is taken gets a number: `item`, `item2`, `item3`. */
export class FreeNames {
  /** Without regard to case: generators of code change the case of names, and file systems may ignore it. */
  readonly #taken: Set<string>
  /** The number to try next, so that many equal wishes take linear time. */
  readonly #next = new Map<string, number>()

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set([...taken].map((name) => name.toLowerCase()))
  }

  take(wish: string): string {
    const key = wish.toLowerCase()
    let name = wish
    for (let number = this.#next.get(key) ?? 2; this.#taken.has(name.toLowerCase()); number++) {
      name = `${wish}${number}`
      this.#next.set(key, number + 1)
    }
    this.#taken.add(name.toLowerCase())
    return name
  }
}
