/** Reads the changes of the other processes into the feed, and tells it of those that are missing. */
import type { Clock } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import { BATCHES, type Batch, HEADS, type Head, LATE_MS, timeKey } from './batches.ts'
import type { ChangeFeed } from './change-feed.ts'

export interface BatchReaderParts {
  clock: Clock
  records: Pick<Records, 'list'>
  feed: Pick<ChangeFeed, 'note' | 'lose'>
  node: string
}

interface Known {
  /** The number of the last batch that was read. */
  number: number
  ended: boolean
}

const PAGE = 200

export class BatchReader {
  readonly #parts: BatchReaderParts
  /** The other processes. Absent while no operator waits here. */
  #known: Map<string, Known> | undefined
  #readAt = 0

  constructor(parts: BatchReaderParts) {
    this.#parts = parts
  }

  get isReading(): boolean {
    return this.#known !== undefined
  }

  /** All batches that were stored before this time were read. */
  get completeUntil(): number {
    return this.#known ? this.#readAt : Number.NEGATIVE_INFINITY
  }

  rest(): void {
    this.#known = undefined
  }

  async read(): Promise<void> {
    const { clock, feed } = this.#parts
    const now = clock.now()
    const heads = await this.#heads()
    if (!this.#known) {
      // What was written before this does not matter: those who wait begin here, and all others look again.
      this.#known = new Map([...heads].map(([node, head]) => [node, knownFrom(head)]))
      this.#readAt = now
      feed.lose()
      return
    }
    const known = this.#known
    await this.#readBatches(known, Math.min(now, this.#readAt) - LATE_MS)
    let isComplete = true
    for (const [node, head] of heads) {
      // A batch can be too late for its key, or past its expiry.
      if ((known.get(node)?.number ?? 0) < head.number) isComplete = false
      const number = Math.max(head.number, known.get(node)?.number ?? 0)
      known.set(node, { number, ended: head.ended === true })
    }
    for (const [node, { ended }] of known) {
      if (heads.has(node)) continue
      // Without a farewell, it may have ended before it wrote its last changes.
      if (!ended) isComplete = false
      known.delete(node)
    }
    this.#readAt = now
    if (!isComplete) feed.lose()
  }

  async #heads(): Promise<Map<string, Head>> {
    const { records, node } = this.#parts
    const heads = new Map<string, Head>()
    for await (const { key, value } of listed(records, HEADS)) heads.set(key.slice(HEADS.length), JSON.parse(value))
    heads.delete(node)
    return heads
  }

  async #readBatches(known: Map<string, Known>, from: number): Promise<void> {
    const { records, feed, node: here } = this.#parts
    for await (const { value } of listed(records, BATCHES, BATCHES + timeKey(from))) {
      const { node, number, lost, changes }: Batch = JSON.parse(value)
      const before = known.get(node)?.number ?? 0
      if (node === here || number <= before) continue
      if (lost || number > before + 1) feed.lose()
      known.set(node, { number, ended: false })
      for (const noted of changes) feed.note(noted)
    }
  }
}

function knownFrom({ number, ended }: Head): Known {
  return { number, ended: ended === true }
}

async function* listed(records: Pick<Records, 'list'>, prefix: string, after?: string) {
  for (let last = after; ; ) {
    const found = await records.list(prefix, PAGE, last)
    yield* found
    if (found.length < PAGE) return
    last = found.at(-1)?.key
  }
}
