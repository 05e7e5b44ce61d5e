/** OpenCALL over Kafka, with a Python client as the caller. */
import { Admin } from '@platformatic/kafka'
import { jsonSchema, operation } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWith, kafkaBroker, pythonClients, together } from '../../engines/engines.ts'
import { type Kafka, startKafka } from '../../engines/kafka.ts'
import { verifies } from '../../requirements.ts'
import { createGate, startSite } from '../../scenarios/server.ts'
import { readChunks } from '../read-chunks.ts'
import { AUTH, envelopeIn, PEER_TOKEN, startPeer } from './peer.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const auth = { tokens: [PEER_TOKEN] }
const TOPICS = ['callplane.replies', 'callplane.frames', 'team.replies', 'dead']
const object = jsonSchema<Record<string, never>>({ type: 'object' })
const number = jsonSchema<number>({ type: 'number' })

const add = operation('v1:math.add', {
  args: jsonSchema<{ a: number; b: number }>({
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { type: 'number' }, b: { type: 'number' } },
  }),
  result: number,
  run: async ({ a, b }) => a + b,
})

const tick = operation('v1:clock.tick', {
  args: jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } }),
  frame: jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }),
  async *run({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
  },
})

describeWith(together(kafkaBroker, pythonClients), 'OpenCALL over Kafka', () => {
  let kafka: Kafka
  beforeAll(async () => {
    kafka = await startKafka({ settings: ['message.max.bytes=20000000', 'replica.fetch.max.bytes=20000000'] })
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [kafka.address] })
    await admin.createTopics({ topics: TOPICS, partitions: 2, replicas: 1 })
    await admin.close()
  })
  afterAll(() => kafka[Symbol.asyncDispose]())

  function openSite(operations: Parameters<typeof startSite>[0]['operations'], more: object = {}, others: object = {}) {
    const options = { brokers: [kafka.address], createTopics: { partitions: 2 }, replyTopics: ['team.*'], ...more }
    return startSite({ operations, auth, ...others, kafka: { topics: { deadLetters: 'dead' }, ...options } })
  }

  test('a sync call is answered, with its request id as the key and its correlation header', async () => {
    verifies('opencall:317', 'opencall:318', 'opencall:235')
    await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'sum-1' }, { headers: { 'correlation-id': 'c 1' } })

    const reply = await peer.reply('sum-1', 'complete')
    expect(reply).toMatchObject({ requestId: 'sum-1', state: 'complete', result: 3 })
    await peer.call('math.add:v1', { a: 2, b: 2 }, { requestId: 'sum-2' })
    expect(await peer.reply('sum-2', 'complete')).toMatchObject({ result: 4, meta: { op: 'v1:math.add' } })
    expect(await peer.find(({ key }) => key === 'sum-1')).toMatchObject({
      topic: 'callplane.replies',
      headers: { 'correlation-id': 'c 1' },
    })
  })

  test('a call without a request id gets one from its message, and is recognized by its correlation header', async () => {
    await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call('v1:math.add', { a: 2, b: 2 }, {}, { headers: { 'correlation-id': 'mine' } })

    const { key, value } = await peer.find(({ headers }) => headers['correlation-id'] === 'mine')
    expect(key).toMatch(/^callplane\.ops:[01]:\d+:\d+$/)
    expect(envelopeIn(value)).toMatchObject({ requestId: key, state: 'complete', result: 4 })
  })

  test('every later state of an async call is published, and built-in operations follow it', async () => {
    const gate = createGate<number>()
    const slow = operation('v1:slow.count', { args: object, result: number, model: 'async', run: () => gate.pass() })
    await openSite([slow])
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call('v1:slow.count', {}, { requestId: 'slow-1' })
    expect(await peer.reply('slow-1', 'accepted')).toMatchObject({ location: { uri: expect.any(String) } })
    await peer.reply('slow-1', 'pending')
    await peer.call('v1:getOperation', { requestId: 'slow-1' }, { requestId: 'ask-1' })
    const asked = await peer.reply('ask-1', 'complete')
    gate.open(7)
    const ended = await peer.reply('slow-1', 'complete')
    await peer.call('v1:cancelOperation', { requestId: 'slow-1' }, { requestId: 'cancel-1' })

    expect(asked.result).toMatchObject({ requestId: 'slow-1', state: 'pending' })
    expect(ended).toMatchObject({ requestId: 'slow-1', result: 7 })
    expect((await peer.reply('cancel-1', 'complete')).result).toMatchObject({ state: 'complete', result: 7 })
  })

  test('a result in chunks is read without HTTP', async () => {
    const rows = operation('v1:rows.list', {
      args: object,
      chunked: { mimeType: 'text/csv' },
      async *run() {
        for (let row = 0; row < 3; row++) yield 'a row that is longer than a chunk\n'
      },
    })
    await openSite([rows], {}, { sizes: { chunkBytes: 16 } })
    await using peer = await startPeer(kafka.address, TOPICS)
    await peer.call('v1:rows.list', {}, { requestId: 'rows-1' })
    await peer.reply('rows-1', 'complete')

    const read = await readChunks('rows-1', async (args, askId) => {
      await peer.call('v1:getChunk', args, { requestId: askId })
      return peer.reply(askId, 'complete')
    })

    expect(read).toEqual({ text: 'a row that is longer than a chunk\n'.repeat(3), count: 7 })
  })

  test('of the messages of one fetch, no more are in progress than allowed, and all are answered', async () => {
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [kafka.address] })
    await admin.createTopics({ topics: ['bounded.ops'], partitions: 1, replicas: 1 })
    await admin.close()
    const gate = createGate<number>()
    const full = Promise.withResolvers<void>()
    let running = 0
    let most = 0
    const work = operation('v1:work.wait', {
      args: object,
      result: number,
      async run() {
        most = Math.max(most, ++running)
        if (running === 2) full.resolve()
        const result = await gate.pass()
        running--
        return result
      },
    })
    await using peer = await startPeer(kafka.address, TOPICS)
    const ids = Array.from(Array(7).keys(), (n) => `bounded-${n}`)
    for (const requestId of ids) await peer.call('v1:work.wait', {}, { requestId }, { topic: 'bounded.ops' })

    await openSite([work], { maxInFlight: 2, topics: { deadLetters: 'dead', operations: 'bounded.ops' } })
    await full.promise
    gate.open(5)

    for (const id of ids) expect(await peer.reply(id, 'complete')).toMatchObject({ result: 5 })
    expect(most).toBe(2)
  })

  test('without an auth block, or with a wrong credential, a call is refused and not run', async () => {
    verifies('opencall:318', 'opencall:239', 'opencall:320')
    await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)
    const wrong = { ...AUTH, credential: 'not the token of anybody at all' }

    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'no-auth' }, { auth: null })
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'bad-auth' }, { auth: wrong })
    await peer.call('v1:math.add', { a: 1 }, { requestId: 'bad-args' })

    expect((await peer.reply('no-auth', 'error')).error).toMatchObject({ code: 'AUTH_REQUIRED' })
    expect((await peer.reply('bad-auth', 'error')).error).toMatchObject({ code: 'AUTH_REQUIRED' })
    expect((await peer.reply('bad-args', 'error')).error).toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  test('replies go to the topic of the header if it is allowed; else the call is refused', async () => {
    await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)
    const to = (topic: string) => ({ headers: { 'reply-topic': topic } })

    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'team-1' }, to('team.replies'))
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'other-1' }, to('other.replies'))
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'loop-1' }, to('callplane.ops'))

    await peer.reply('team-1', 'complete')
    expect((await peer.find(({ key }) => key === 'team-1')).topic).toBe('team.replies')
    for (const id of ['other-1', 'loop-1']) {
      expect((await peer.reply(id, 'error')).error).toMatchObject({ code: 'REPLY_TOPIC_NOT_ALLOWED' })
      expect((await peer.find(({ key }) => key === id)).topic).toBe('callplane.replies')
    }
  })

  test('a reply topic that is allowed and does not exist delays nobody else', async () => {
    await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call(
      'v1:math.add',
      { a: 1, b: 2 },
      { requestId: 'nowhere' },
      { headers: { 'reply-topic': 'team.none' } },
    )
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'after-nowhere' })

    await peer.reply('after-nowhere', 'complete')
  })

  test('frames are messages on the topic of stream.location, and the final envelope says how many', async () => {
    verifies('opencall:319')
    await openSite([tick])
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call('v1:clock.tick', { count: 500 }, { requestId: 'tick-1' })
    const { stream } = await peer.reply('tick-1', 'streaming')
    expect(stream).toMatchObject({
      transport: 'kafka',
      encoding: 'json',
      location: `kafka://${kafka.address}/callplane.frames`,
      topic: 'callplane.frames',
      key: 'tick-1',
    })
    const ended = await peer.reply('tick-1', 'complete')
    const frames = () => peer.received.filter(({ topic, key }) => topic === 'callplane.frames' && key === 'tick-1')
    await peer.until(() => frames().length === 500)

    expect(ended.result).toEqual({ frames: 500, dropped: 0, ended: 'done' })
    expect(frames().map(({ value }) => JSON.parse(String(value)).n)).toEqual(
      Array.from({ length: 500 }, (_, n) => n + 1),
    )
    expect(new Set(frames().map(({ headers }) => headers['stream-id']))).toEqual(new Set([stream?.streamId]))
  })

  test('with a topic for each operation, frames go there', async () => {
    await openSite([tick], { framesTopicPer: 'operation' })
    await using peer = await startPeer(kafka.address, TOPICS)

    await peer.call('v1:clock.tick', { count: 3 }, { requestId: 'tick-2' })
    const { stream } = await peer.reply('tick-2', 'streaming')
    await peer.reply('tick-2', 'complete')
    await using reader = await startPeer(kafka.address, [String(stream?.topic)])
    await reader.until(() => reader.received.length === 3)

    expect(stream?.location).toBe(`kafka://${kafka.address}/callplane.frames.v1.clock.tick`)
  })

  test('a stream that is called over HTTP can be read from Kafka, and ended over Kafka', async () => {
    const forever = operation('v1:clock.run', {
      args: object,
      frame: jsonSchema<{ n: number }>({ type: 'object' }),
      async *run(_args, ctx) {
        for (let n = 1; !ctx.signal.aborted; n++) {
          yield { n }
          await new Promise(setImmediate)
        }
      },
    })
    const site = await openSite([forever])
    await using peer = await startPeer(kafka.address, TOPICS)
    const headers = { authorization: `Bearer ${AUTH.credential}` }

    const ctx = { requestId: 'run-1', sessionId: 'evening' }
    const { body } = await site.call('v1:clock.run', { transport: 'kafka' }, ctx, { headers })
    await peer.find(({ topic, key }) => topic === 'callplane.frames' && key === 'run-1')
    await peer.call('v1:unsubscribeFromStream', { requestId: 'run-1' }, { requestId: 'stop-1' })
    await peer.reply('stop-1', 'complete')

    expect(body.stream).toMatchObject({ transport: 'kafka' })
    expect((await site.ended('run-1', headers)).body).toMatchObject({ state: 'complete' })
  })

  test('/ready and /metrics say how the carrier is', async () => {
    const metricsToken = { ...PEER_TOKEN, scopes: ['callplane:metrics'] }
    const kafkaOptions = { brokers: [kafka.address], createTopics: true }
    const site = await startSite({ operations: [add], auth: { tokens: [metricsToken] }, kafka: kafkaOptions })
    await using peer = await startPeer(kafka.address, TOPICS)
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'metered' })
    await peer.reply('metered', 'complete')

    const ready = await (await site.request('/ready')).json()
    const headers = { authorization: `Bearer ${AUTH.credential}` }
    const metrics = await (await site.request('/metrics', { headers })).text()

    expect(ready).toMatchObject({ status: 'ok', carriers: { kafka: { connected: true } } })
    expect(metrics).toContain('callplane_kafka_connected 1')
    expect(metrics).toMatch(/callplane_kafka_received_total [1-9]/)
  })

  test('garbage is answered where it can be recognized, or put aside, and the next call is served', async () => {
    const { request } = await openSite([add])
    await using peer = await startPeer(kafka.address, TOPICS)
    const recognized = { 'correlation-id': 'poison' }
    const deep = `{"op":"v1:math.add","args":${'['.repeat(100_000)}`

    await peer.send(Uint8Array.of(0xff, 0xfe, 0x00, 0x80), { key: 'binary' })
    await peer.send('', { key: 'empty' })
    await peer.send('{"op":1}', { key: 'no-id' })
    await peer.send(deep, { key: 'deep' })
    await peer.send('not JSON', { key: 'known', headers: recognized })
    await peer.send('{"op":1,"ctx":{"requestId":"wrong-op"}}')
    await peer.sendSize(15_000_000, { headers: recognized })
    await peer.call('v1:math.add', { a: 1, b: 2 }, { requestId: 'after-poison' })

    await peer.reply('after-poison', 'complete')
    expect((await peer.reply('wrong-op', 'error')).error).toMatchObject({ code: 'INVALID_REQUEST' })
    const answered = () => peer.received.filter(({ headers }) => headers['correlation-id'] === 'poison')
    await peer.until(() => answered().length === 2)
    const aside = () => peer.received.filter(({ topic }) => topic === 'dead')
    await peer.until(() => aside().length === 4)
    expect(
      answered()
        .map(({ value }) => envelopeIn(value)?.error?.code)
        .sort(),
    ).toEqual(['BODY_TOO_LARGE', 'INVALID_JSON'])
    expect(
      aside()
        .map(({ key }) => key)
        .sort(),
    ).toEqual(['binary', 'deep', 'empty', 'no-id'])
    expect(JSON.parse(aside()[0]?.headers.refusal ?? '')).toMatchObject({ state: 'error' })
    expect((await request('/ready')).status).toBe(200)
  })
})
