/** An abort signal that is created when it is first read. A controller and its listeners cost more than a small call. */

export class LateSignal {
  #controller: AbortController | undefined
  #isAborted = false
  #whenAborted: Promise<void> | undefined

  get isAborted(): boolean {
    return this.#isAborted
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort()
    }
    return this.#controller.signal
  }

  /** Resolves when it aborts. */
  get whenAborted(): Promise<void> {
    this.#whenAborted ??= new Promise((resolve) => {
      if (this.#isAborted) resolve()
      else this.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    return this.#whenAborted
  }

  abort(): void {
    this.#isAborted = true
    this.#controller?.abort()
  }
}
