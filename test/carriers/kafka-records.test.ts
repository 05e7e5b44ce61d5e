/** Our encoder of record batches and our partitioner, compared with the library's. */
import { compatibilityPartitioner, createRecordsBatch, NumericMap } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { partitionOf } from '../../src/carriers/kafka/partition.ts'
import { encodeRecordBatch } from '../../src/carriers/kafka/record-batch.ts'

const timestampMs = 1_700_000_000_000
const message = { topic: 'replies', partition: 2, timestamp: BigInt(timestampMs), value: Buffer.from('{"state":"é"}') }
const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, at) => (at * 89 + length) & 0xff))

test.each([
  { name: 'one message', messages: [{ ...message, key: Buffer.from('r-1') }] },
  { name: 'no key, and an empty value', messages: [{ ...message, value: Buffer.alloc(0) }] },
  {
    name: 'headers',
    messages: [
      {
        ...message,
        headers: new Map([
          [Buffer.from('correlation-id'), Buffer.from('c 1')],
          [bytes(70), bytes(0)],
        ]),
      },
    ],
  },
  {
    name: 'lengths of one to three bytes, and more than 64 messages',
    messages: [63, 64, 8_191, 8_192, ...Array(70).keys()].map((length) => ({
      ...message,
      key: bytes(length),
      value: bytes(length),
    })),
  },
])('a batch has the same bytes as from the library: $name', ({ messages }) => {
  const firstSequence = 2 ** 31 - 1
  const producer = { producerId: 2n ** 40n, producerEpoch: 3 }
  const sequences = new NumericMap([['replies:2', firstSequence]])

  const batch = encodeRecordBatch(messages, { ...producer, firstSequence, timestampMs })

  expect(batch).toEqual(createRecordsBatch(messages, { ...producer, sequences }).buffer)
})

test('a key has the same partition as from the library', () => {
  const keys = [...Array(100).keys()].map(bytes)

  expect(keys.map(partitionOf)).toEqual(keys.map((key) => compatibilityPartitioner({ topic: 'replies' }, key)))
})

test('a message without a key has the first partition', () => {
  expect(partitionOf(undefined)).toBe(0)
})

test('after the largest sequence number, numbers begin again at 0', () => {
  const batch = (firstSequence: number) =>
    encodeRecordBatch([message], { producerId: 1n, producerEpoch: 0, firstSequence, timestampMs })

  expect(batch(2 ** 31 + 5)).toEqual(batch(5))
})
