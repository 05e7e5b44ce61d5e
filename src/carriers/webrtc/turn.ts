/** Pauses a sender that never waits after 64 frames, so that the event loop can do other work. */
const FRAMES_PER_TURN = 64

export class Turn {
  #sent = 0
  #next: Promise<void> | undefined

  /** Counts one frame. Returns a promise of the next turn if this one is full. */
  take(): Promise<void> | undefined {
    if (this.#sent++ === 0) {
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#sent = 0
          resolve()
        })
      })
    }
    return this.#sent < FRAMES_PER_TURN ? undefined : this.#next
  }
}
