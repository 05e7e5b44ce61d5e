/** Sets that several processes share: each adds to its own copy and tells the others. */

export class SharedSets {
  readonly #tell: (name: string, value: string) => void
  readonly #sets = new Map<string, Set<string>>()

  constructor(tell: (name: string, value: string) => void) {
    this.#tell = tell
  }

  share(name: string): Pick<Set<string>, 'add' | 'has'> {
    const set = this.#setOf(name)
    return {
      has: (value) => set.has(value),
      add: (value) => {
        if (!set.has(value)) this.#tell(name, value)
        return set.add(value)
      },
    }
  }

  /** Another process has added it. */
  added(name: string, value: string): void {
    this.#setOf(name).add(value)
  }

  #setOf(name: string): Set<string> {
    const found = this.#sets.get(name) ?? new Set()
    this.#sets.set(name, found)
    return found
  }
}
