/** Frames between a connection and the loop that reads them. Bounded, and in order. */
import { CallFault } from '../fault.ts'

/** A connection that cannot wait may be this far ahead of the loop. */
const MAX_WAITING = 4_096

export class FrameQueue<T> {
  #waiting: T[] = []
  #wake = () => {}
  #makeRoom = () => {}
  #room: Promise<void> | undefined
  #end: { thrown?: unknown } | undefined

  /** Resolves when the loop has taken all frames. */
  push(frame: T): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING)
      throw new CallFault('STREAM_BROKEN', `The loop is too slow for the stream: ${MAX_WAITING} frames wait.`)
    this.#waiting.push(frame)
    this.#wake()
    this.#room ??= new Promise((resolve) => {
      this.#makeRoom = resolve
    })
    return this.#room
  }

  end(thrown?: unknown): void {
    this.#end ??= thrown === undefined ? {} : { thrown }
    this.#wake()
  }

  async *read(): AsyncGenerator<T> {
    for (;;) {
      const frames = this.#waiting
      this.#waiting = []
      yield* frames
      if (this.#waiting.length > 0) continue
      this.#room = undefined
      this.#makeRoom()
      if (this.#end && this.#waiting.length === 0) {
        if ('thrown' in this.#end) throw this.#end.thrown
        return
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (this.#waiting.length > 0 || this.#end) resolve()
      })
    }
  }
}
