/** Reads a topic from its end on. Each reading is a group of its own, because every client reads all replies. */
import type { BaseOptions, MessagesStream } from '@platformatic/kafka'
import { newId } from '../ids.ts'

export interface ReceivedRecord {
  readonly key: string
  readonly value: Buffer
  header(name: string): string | undefined
}

export interface Reading {
  close(): void
}

interface Reader {
  take(record: ReceivedRecord): void
  /** Called at most once. */
  lost(why: string): void
}

/** How long a fetch waits for messages. A message ends the wait. */
const FETCH_WAIT_MS = 1_000
/** The offset of the next message. */
const LATEST = -1n

/** Resolves when nothing is missed any more. Kafka's library is given, because it is loaded when it is used. */
export async function readFromEnd(
  { Consumer }: typeof import('@platformatic/kafka'),
  options: BaseOptions,
  topic: string,
  { take, lost }: Reader,
): Promise<Reading> {
  const consumer = new Consumer({
    ...options,
    groupId: `callplane-client-${newId()}`,
    autocommit: false,
    maxWaitTime: FETCH_WAIT_MS,
  })
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    consumer.close(true, () => undefined)
  }
  const fail = (error: Error) => {
    if (isOpen) lost(error.message)
    close()
  }
  consumer.on('error', fail)
  try {
    const ends = (await consumer.listOffsets({ topics: [topic], timestamp: LATEST })).get(topic) ?? []
    const offsets = ends.map((offset, partition) => ({ topic, partition, offset }))
    const stream: MessagesStream<Buffer, Buffer, Buffer, Buffer> = await consumer.consume({
      topics: [topic],
      mode: 'manual',
      offsets,
    })
    stream.on('error', fail)
    stream.on('close', () => fail(new Error('The brokers ended the connection.')))
    stream.on('data', ({ key, value, headers }) => {
      take({ key: String(key), value, header: (name) => headerIn(headers, name) })
    })
  } catch (thrown) {
    close()
    throw thrown
  }
  return { close }
}

function headerIn(headers: ReadonlyMap<Buffer, Buffer>, name: string): string | undefined {
  for (const [key, value] of headers) if (String(key) === name) return String(value)
  return undefined
}
