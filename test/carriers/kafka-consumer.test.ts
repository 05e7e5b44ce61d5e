/** Which records our consumer takes out of a fetch. The library's fetch is replaced here, so that the test decides. */
import { type CallbackWithPromise, Consumer, type fetchV17, IS_CONTROL, type KafkaRecord } from '@platformatic/kafka'
import { afterEach, expect, test, vi } from 'vitest'
import { BatchConsumer, type Fetched } from '../../src/carriers/kafka/consumer.ts'

type FetchResponse = fetchV17.FetchResponse
type Options = Parameters<BatchConsumer['fetch']>[0]

const TOPIC = 'a-topic-id'
const options: Options = { node: 1, topics: [{ topicId: TOPIC, partitions: [requested(0, 12n), requested(1, 0n)] }] }

function requested(partition: number, fetchOffset: bigint) {
  return { partition, fetchOffset, currentLeaderEpoch: 0, lastFetchedEpoch: 0, partitionMaxBytes: 1 }
}

function batchAt(firstOffset: bigint, count: number, attributes = 0) {
  const record = (offsetDelta: number) =>
    ({ offsetDelta, value: Buffer.from('{}'), headers: [] }) as unknown as KafkaRecord
  return { firstOffset, attributes, lastOffsetDelta: count - 1, records: Array.from(Array(count).keys(), record) }
}

/** The offsets that the consumer hands over, by partition, and the batches that the library's stream gets. */
async function fetch(partitions: Record<number, ReturnType<typeof batchAt>[]>, error: Error | null = null) {
  const answered = Object.entries(partitions).map(([index, records]) => ({ partitionIndex: Number(index), records }))
  const response = { responses: [{ topicId: TOPIC, partitions: answered }] } as unknown as FetchResponse
  vi.spyOn(Consumer.prototype, 'fetch').mockImplementation(((_options, callback) => {
    callback(error, response)
  }) as (options: Options, callback: CallbackWithPromise<FetchResponse>) => void as Consumer['fetch'])
  const taken: string[] = []
  const arrive = ({ partition, batch, records }: Fetched) => {
    for (const { offsetDelta } of records) taken.push(`${partition}:${batch.firstOffset + BigInt(offsetDelta)}`)
  }
  const consumer = new BatchConsumer({ clientId: 'test', groupId: 'test', bootstrapBrokers: ['127.0.0.1:1'] }, arrive)
  const told = Promise.withResolvers<unknown>()
  consumer.fetch(options, (thrown, given) => told.resolve(thrown ?? given))
  await told.promise
  await consumer.close()
  return { taken, left: Object.values(partitions).flatMap((batches) => batches.map(({ records }) => records.length)) }
}

afterEach(() => void vi.restoreAllMocks())

test('the records of a fetch are taken in order, and the stream of the library gets none', async () => {
  const { taken, left } = await fetch({ 0: [batchAt(12n, 2), batchAt(14n, 1)], 1: [batchAt(0n, 1)] })

  expect(taken).toEqual(['0:12', '0:13', '0:14', '1:0'])
  expect(left).toEqual([0, 0, 0])
})

test('records before the requested offset are not taken again', async () => {
  expect((await fetch({ 0: [batchAt(10n, 4)] })).taken).toEqual(['0:12', '0:13'])
})

test('a partition that was not requested, and a marker of a transaction, are not taken', async () => {
  expect((await fetch({ 7: [batchAt(0n, 1)], 1: [batchAt(0n, 1, IS_CONTROL)] })).taken).toEqual([])
})

test('nothing is taken from a fetch that failed, because the library fetches it again', async () => {
  expect((await fetch({ 1: [batchAt(0n, 1)] }, new Error('no leader'))).taken).toEqual([])
})
