/** Messages above the brokers' limit, which is 1 MB by default: their callers learn it. */
import { jsonSchema, operation } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWith, kafkaBroker, pythonClients, together } from '../../engines/engines.ts'
import { type Kafka, startKafka } from '../../engines/kafka.ts'
import { startSite } from '../../scenarios/server.ts'
import { PEER_TOKEN, startPeer } from './peer.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const LARGE = 2_000_000

const write = operation('v1:it.writes', { run: () => 'x'.repeat(LARGE) })
const writeLater = operation('v1:it.writesLater', { model: 'async', run: async () => 'x'.repeat(LARGE) })
const stream = operation('v1:it.streams', {
  frame: jsonSchema<string>({ type: 'string' }),
  async *run() {
    yield 'small'
    yield 'x'.repeat(LARGE)
  },
})

describeWith(together(kafkaBroker, pythonClients), 'messages that Kafka refuses', () => {
  let kafka: Kafka
  beforeAll(async () => {
    kafka = await startKafka()
  })
  afterAll(() => kafka[Symbol.asyncDispose]())

  test.for([
    ['a reply', 'v1:it.writes', 'RESPONSE_TOO_LARGE'],
    ['the end of a slow call', 'v1:it.writesLater', 'RESPONSE_TOO_LARGE'],
    ['a frame', 'v1:it.streams', 'FRAME_TOO_LARGE'],
  ] as const)('%s that is too large is replaced by one error', async ([, op, code]) => {
    await startSite({
      operations: [write, writeLater, stream],
      auth: { tokens: [PEER_TOKEN] },
      kafka: { brokers: [kafka.address], createTopics: true },
    })
    await using peer = await startPeer(kafka.address, ['callplane.replies'])

    const requestId = op.replaceAll(/\W/g, '-')
    await peer.call(op, {}, { requestId, sessionId: 's1' })

    expect(await peer.reply(requestId, 'error')).toMatchObject({
      requestId,
      sessionId: 's1',
      error: { code: expect.stringContaining(code) },
    })
    await peer.call('v1:it.unknown', {}, { requestId: `${requestId}-after` })
    await peer.reply(`${requestId}-after`, 'error')
    const errors = peer.received.filter(({ key, value }) => key === requestId && value.includes('"error"'))
    expect(errors).toHaveLength(1)
  })
})
