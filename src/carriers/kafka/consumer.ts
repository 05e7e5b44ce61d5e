/**
 * The library's consumer. It hands over the records of a fetch as a list. The library's stream still decides what to
 * fetch, but gets the batches without their records: it would create a message with maps and a diagnostic context for
 * each, which took a tenth of a small call.
 */
import {
  type CallbackWithPromise,
  Consumer,
  type ConsumerOptions,
  type FetchOptions,
  type fetchV17,
  IS_CONTROL,
  type KafkaRecord,
  type RecordsBatch,
} from '@platformatic/kafka'

type Options = FetchOptions<Buffer, Buffer, Buffer, Buffer>
type FetchResponse = fetchV17.FetchResponse

/** One batch of a partition. */
export interface Fetched {
  readonly partition: number
  readonly batch: RecordsBatch
  readonly records: readonly KafkaRecord[]
}

export class BatchConsumer extends Consumer<Buffer, Buffer, Buffer, Buffer> {
  readonly #arrive: (fetched: Fetched) => void

  constructor(options: ConsumerOptions<Buffer, Buffer, Buffer, Buffer>, arrive: (fetched: Fetched) => void) {
    super(options)
    this.#arrive = arrive
  }

  override fetch(options: Options, callback: CallbackWithPromise<FetchResponse>): void
  override fetch(options: Options): Promise<FetchResponse>
  override fetch(options: Options, callback?: CallbackWithPromise<FetchResponse>): undefined | Promise<FetchResponse> {
    if (!callback) return super.fetch(options)
    super.fetch(options, (error, response) => {
      // After an error, the stream fetches all partitions again.
      if (response && !error) this.#handOver(options, response)
      callback(error, response)
    })
    return undefined
  }

  #handOver(options: Options, { responses }: FetchResponse): void {
    for (const { topicId, partitions } of responses) {
      for (const { partitionIndex: partition, records: batches } of partitions) {
        const fromOffset = requestedOffset(options, topicId, partition)
        // A broker may answer for a partition of an earlier fetch of its session.
        if (fromOffset === undefined || !batches) continue
        for (const batch of batches) {
          if (batch.attributes & IS_CONTROL) continue
          const records = recordsFrom(fromOffset, batch)
          batch.records = []
          this.#arrive({ partition, batch, records })
        }
      }
    }
  }
}

function requestedOffset({ topics }: Options, topicId: string, partition: number): bigint | undefined {
  for (const topic of topics) {
    if (topic.topicId !== topicId) continue
    for (const requested of topic.partitions) if (requested.partition === partition) return requested.fetchOffset
  }
  return undefined
}

/** A broker sends whole batches, also if the server has committed the first records of one. */
function recordsFrom(offset: bigint, { firstOffset, records }: RecordsBatch): KafkaRecord[] {
  if (firstOffset >= offset) return records
  return records.filter(({ offsetDelta }) => firstOffset + BigInt(offsetDelta) >= offset)
}
