/**
 * The calls that were handed out without a write, so that their rows say that they wait. Most of them end within
 * milliseconds, and the end says when they began. Those that run for longer get their start written, so that callers and
 * operators see that they run.
 */
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { Held, HeldCalls } from '../nodes/held-calls.ts'

export interface BegunHereParts {
  clock: Clock
  log: Log | undefined
  held: HeldCalls
  /** Writes that the call runs since this time. */
  begin(id: string, attempt: number, begunAt: number): Promise<void>
}

/** A start is written after one to two of these. */
const TICK_MS = 100

export class BegunHere {
  readonly #parts: BegunHereParts
  #young: string[] = []
  #old: string[] = []
  #cancelTimer: (() => void) | undefined
  #ended = false

  constructor(parts: BegunHereParts) {
    this.#parts = parts
  }

  add(id: string): void {
    this.#young.push(id)
    this.#tickLater()
  }

  /** Writes the start before the next change of the call, and before it is read here. */
  settle(id: string): Promise<void> | undefined {
    const held = this.#parts.held.entry(id)
    return held?.begunAt === undefined ? undefined : this.#write(held, held.begunAt)
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
  }

  #tickLater(): void {
    if (this.#cancelTimer || this.#ended) return
    this.#cancelTimer = this.#parts.clock.schedule(TICK_MS, () => {
      this.#cancelTimer = undefined
      for (const id of this.#old) void this.settle(id)
      this.#old = this.#young
      this.#young = []
      if (this.#old.length > 0) this.#tickLater()
    })
  }

  async #write(held: Held, begunAt: number): Promise<void> {
    const { begin, log } = this.#parts
    const { id, attempt } = held.instance
    held.begunAt = undefined
    try {
      await begin(id, attempt, begunAt)
    } catch (err) {
      // Nothing depends on it: the end of the call, or its next change, is written all the same.
      log?.debug({ err }, 'could not write that a call has begun')
    }
  }
}
