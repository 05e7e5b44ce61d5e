/** Writes the changes of this process for the others. */
import type { Clock } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import { BATCH_MS, type Batch, batchKey, HEAD_MS, HEADS, type Head, LATE_MS, RENEW_MS } from './batches.ts'
import type { Noted } from './change.ts'
import type { ChangeFeed } from './change-feed.ts'

export interface BatchWriterParts {
  clock: Clock
  records: Pick<Records, 'put'>
  feed: Pick<ChangeFeed, 'lose'>
  node: string
}

/** More of them at once are not written: the reader is told to look again, which is cheaper for both. */
const MOST_IN_BATCH = 1_000

export class BatchWriter {
  readonly #parts: BatchWriterParts
  #outbox: Noted[] = []
  /** When the oldest change in the outbox came. */
  #since = 0
  #lost = false
  #number = 0
  #headAt = Number.NEGATIVE_INFINITY

  constructor(parts: BatchWriterParts) {
    this.#parts = parts
  }

  add(noted: Noted): void {
    if (this.#outbox.length >= MOST_IN_BATCH) this.lose()
    if (this.#outbox.length === 0) this.#since = this.#parts.clock.now()
    this.#outbox.push(noted)
  }

  /** Changes before this are not told. The next batch says so. */
  lose(): void {
    this.#lost = true
    this.#outbox = []
  }

  async write(): Promise<void> {
    const { clock, node } = this.#parts
    const changes = this.#outbox
    const lost = this.#lost
    if (changes.length === 0 && !lost) {
      if (clock.now() - this.#headAt >= RENEW_MS) await this.#writeHead()
      return
    }
    this.#outbox = []
    this.#lost = false
    const batch: Batch = { node, number: ++this.#number, ...(lost && { lost }), changes }
    const since = changes.length > 0 ? this.#since : clock.now()
    try {
      await this.#writeBatch(batch)
    } catch (thrown) {
      this.#late()
      throw thrown
    }
    // Operators elsewhere may have been told that they know all changes up to a time after these.
    if (clock.now() - since > LATE_MS / 2) this.#late()
  }

  /** The last changes before this process ends. */
  async end(): Promise<void> {
    if (this.#headAt === Number.NEGATIVE_INFINITY && this.#outbox.length === 0) return
    await this.write()
    await this.#writeHead({ ended: true })
  }

  async #writeBatch(batch: Batch): Promise<void> {
    const { clock, records } = this.#parts
    const now = clock.now()
    await records.put(batchKey(now, batch), JSON.stringify(batch), now + BATCH_MS)
    await this.#writeHead()
  }

  async #writeHead(more: Pick<Head, 'ended'> = {}): Promise<void> {
    const { clock, records, node } = this.#parts
    const now = clock.now()
    const head: Head = { number: this.#number, ...more }
    await records.put(HEADS + node, JSON.stringify(head), now + HEAD_MS)
    this.#headAt = now
  }

  #late(): void {
    this.lose()
    this.#parts.feed.lose()
  }
}
