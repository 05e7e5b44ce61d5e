/** Messages that are small on their way and large in memory. */
import { Admin, CompressionAlgorithms, type CompressionAlgorithmValue, Producer } from '@platformatic/kafka'
import { jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { describeWith, kafkaBroker, pythonClients, together } from '../../engines/engines.ts'
import { startKafka } from '../../engines/kafka.ts'
import { startSite } from '../../scenarios/server.ts'
import { AUTH, PEER_TOKEN, startPeer } from './peer.ts'

vi.setConfig({ testTimeout: 120_000 })

const hello = operation('v1:say.hello', {
  args: jsonSchema<object>({ type: 'object' }),
  result: jsonSchema<string>({ type: 'string' }),
  run: async () => 'hello',
})

describeWith(together(kafkaBroker, pythonClients), 'compressed messages', () => {
  test('on a topic that the server creates, the broker refuses what is too large when it is unpacked', async () => {
    await using kafka = await startKafka()
    const site = await startSite({
      operations: [hello],
      auth: { tokens: [PEER_TOKEN] },
      kafka: { brokers: [kafka.address], createTopics: true },
    })
    await using peer = await startPeer(kafka.address, ['callplane.replies'])
    const base = { clientId: 'test', bootstrapBrokers: [kafka.address], retries: 0 }
    const send = async (value: Buffer, compression: CompressionAlgorithmValue) => {
      const producer = new Producer({ ...base, compression })
      onTestFinished(() => producer.close(true))
      await producer.send({ messages: [{ topic: 'callplane.ops', value }] })
    }
    const envelope = (requestId: string) =>
      Buffer.from(JSON.stringify({ op: 'v1:say.hello', args: {}, ctx: { requestId }, auth: AUTH }))

    const refused: string[] = []
    for (const compression of [CompressionAlgorithms.GZIP, CompressionAlgorithms.ZSTD]) {
      // 20 MB of zeros take 20 kB with gzip, and less than 2 kB with zstd.
      const sending = send(Buffer.alloc(20_000_000), compression)
      refused.push(JSON.stringify(await sending.catch(messagesIn)))
      await send(envelope(compression), compression)
      expect(await peer.reply(compression, 'complete')).toMatchObject({ result: 'hello' })
    }

    for (const text of refused) expect(text).toMatch(/larger than the max|MESSAGE_TOO_LARGE/)
    expect((await site.request('/ready')).status).toBe(200)
    const admin = new Admin(base)
    onTestFinished(() => admin.close())
    const ends = await admin.listOffsets({
      topics: [{ name: 'callplane.ops', partitions: [{ partitionIndex: 0, timestamp: -1n }] }],
    })
    expect(ends[0]?.partitions[0]?.offset).toBe(2n)
  })
})

/** The library nests its errors. */
function messagesIn(thrown: unknown): string[] {
  const { message, errors = [], cause } = thrown as Error & { errors?: unknown[] }
  return [message, ...[...errors, ...(cause ? [cause] : [])].flatMap(messagesIn)]
}
