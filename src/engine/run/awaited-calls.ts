/**
 * Callers that wait on this node for an outcome itself. An outcome that such a caller gets need not be kept for polling;
 * whether another caller was told of the call is in the store (`Store.tell`), and counts more.
 */

export class AwaitedCalls {
  readonly #ids = new Set<string>()

  expectDirectly(id: string): void {
    this.#ids.add(id)
  }

  isAwaited(id: string): boolean {
    return this.#ids.has(id)
  }

  /** The wait is over, or the call ends; says whether its caller was still waiting. */
  end(id: string): boolean {
    return this.#ids.delete(id)
  }
}
