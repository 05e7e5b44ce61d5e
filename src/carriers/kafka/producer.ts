/** The library's producer with an encoder of our own. Everything else is the library's: leaders, sequences, retries. */
import {
  type API,
  type Callback,
  type CreateRecordsBatchOptions,
  createAPI,
  kGetApi,
  type MessageRecord,
  Producer,
  produceV9,
  produceV10,
  produceV11,
  Writer,
} from '@platformatic/kafka'
import { encodeRecordBatch } from './record-batch.ts'

type BatchOptions = Pick<CreateRecordsBatchOptions, 'producerId' | 'producerEpoch' | 'sequences'>

const PRODUCE = 0

/** These versions have the same request. For a broker that knows none of them, the library encodes. */
const ENCODED: ReadonlyMap<number, typeof produceV11.api> = new Map(
  [produceV9, produceV10, produceV11].map(({ api, parseResponse }) => [
    api.version,
    createAPI(PRODUCE, api.version, createRequest, parseResponse),
  ]),
)

export class BatchProducer extends Producer<Buffer | undefined, Buffer, Buffer, Buffer> {
  override [kGetApi]<Sent extends unknown[], Response>(name: string, callback: Callback<API<Sent, Response>>): void {
    super[kGetApi]<Sent, Response>(name, (error, api) => {
      if (!api || api.key !== PRODUCE) return callback(error, api)
      callback(null, (ENCODED.get(api.version) as API<Sent, Response> | undefined) ?? api)
    })
  }
}

/** Kafka, "Produce Request (Version: 9)". */
function createRequest(
  acks: number,
  timeoutMs: number,
  messages: readonly MessageRecord[],
  options: BatchOptions,
): Writer {
  const timestampMs = Date.now()
  const topics = [...Map.groupBy(messages, ({ topic }) => topic)]
  return Writer.create()
    .appendString(null)
    .appendInt16(acks)
    .appendInt32(timeoutMs)
    .appendArray(topics, (writer, [topic, ofTopic]) => {
      const partitions = [...Map.groupBy(ofTopic, ({ partition = 0 }) => partition)]
      writer.appendString(topic).appendArray(partitions, (inTopic, [partition, ofPartition]) => {
        const { producerId, producerEpoch, sequences } = options
        const firstSequence = sequences.getWithDefault(`${topic}:${partition}`, 0)
        const batch = encodeRecordBatch(ofPartition, { producerId, producerEpoch, firstSequence, timestampMs })
        inTopic
          .appendInt32(partition)
          .appendUnsignedVarInt(batch.length + 1)
          .append(batch)
      })
    })
    .appendTaggedFields()
}
