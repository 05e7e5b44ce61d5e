/** One message of the operations topic. */
import type { KafkaRecord } from '@platformatic/kafka'
import type { Fetched } from './consumer.ts'
import type { Entry } from './progress.ts'

export class Received implements Entry {
  readonly topic: string
  readonly offset: bigint
  readonly #fetched: Fetched
  readonly #record: KafkaRecord
  /** True if its offset may be committed. */
  isDone = false
  next: Entry | undefined

  constructor(topic: string, fetched: Fetched, record: KafkaRecord) {
    this.topic = topic
    this.offset = fetched.batch.firstOffset + BigInt(record.offsetDelta)
    this.#fetched = fetched
    this.#record = record
  }

  get partition(): number {
    return this.#fetched.partition
  }

  /** That of the record, which a commit names (KIP-320). */
  get leaderEpoch(): number {
    return this.#fetched.batch.partitionLeaderEpoch
  }

  get timestamp(): bigint {
    return this.#fetched.batch.firstTimestamp + this.#record.timestampDelta
  }

  get key(): Buffer | null {
    return this.#record.key
  }

  get value(): Buffer | null {
    return this.#record.value
  }

  get headers(): KafkaRecord['headers'] {
    return this.#record.headers
  }

  header(name: Buffer): Buffer | undefined {
    for (const [key, value] of this.#record.headers) if (key?.equals(name)) return value ?? undefined
    return undefined
  }
}
