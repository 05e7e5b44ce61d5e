/**
 * Streams that have ended on this node, with their last frames, for a reader that was away at the end and resumes.
 * Bounded in time and in bytes.
 */
import type { Clock } from '../../core/ports/runtime.ts'
import { READER_GONE_MS } from './stream-ends.ts'
import type { Subscription } from './subscription.ts'

/** The frames of all of them together. A window has 1 MiB at most. */
const MAX_BYTES = 32 * 1024 * 1024

interface Kept {
  subscription: Subscription
  bytes: number
  cancel(): void
}

export class EndedStreams {
  readonly #clock: Clock
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(id: string): Subscription | undefined {
    return this.#kept.get(id)?.subscription
  }

  /** Keeps a stream that has numbered frames. */
  keep(id: string, subscription: Subscription): void {
    const bytes = subscription.keptBytes
    if (bytes === 0) return
    const cancel = this.#clock.schedule(READER_GONE_MS, () => this.#forget(id))
    this.#kept.set(id, { subscription, bytes, cancel })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MAX_BYTES) break
      this.#forget(oldest)
    }
  }

  forgetAll(): void {
    for (const id of [...this.#kept.keys()]) this.#forget(id)
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id)
    if (!kept) return
    kept.cancel()
    this.#kept.delete(id)
    this.#bytes -= kept.bytes
  }
}
