/** Streams whose frames are messages on a topic of a real broker. */
import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import type { StreamBody } from '../../../src/protocols/opencall/wire.ts'
import { openSeal } from '../../../src/wire/frames/seal.ts'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { mosquittoSub } from '../../engines/mosquitto-clients.ts'
import { verifies } from '../../requirements.ts'
import { createGate } from '../../scenarios/server.ts'
import { startPair } from '../../workers/pair.ts'
import { AUTH, BOB, listen, request, startBroker, startMqttSite, TOKENS } from './site.ts'

const frame = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })
const args = jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } })

const tick = operation('v1:clock.tick', {
  args,
  frame,
  run: tickOf,
})

/** Yields once, and then waits for its end. */
const wait = operation('v1:clock.wait', {
  frame,
  async *run(_, { signal }) {
    yield { n: 1 }
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
})

describeWith(mqttBroker, 'streams over MQTT', () => {
  test('frames follow the response on the topic of the session, and the last state ends the stream', async () => {
    verifies('opencall:314')
    const { broker } = await startMqttSite([tick])
    const responses = await listen(broker, 'ops/r1/response')
    const frames = await listen(broker, 'streams/s1/v1:clock.tick')

    await request(broker, { op: 'v1:clock.tick', args: { count: 3 }, ctx: { requestId: 'r1', sessionId: 's1' } })

    const { stream, ...first } = await responses.envelope()
    expect(first).toMatchObject({ requestId: 'r1', sessionId: 's1', state: 'streaming' })
    expect(stream).toMatchObject({
      transport: 'mqtt',
      encoding: 'json',
      schema: 'v1:clock.tick#frame',
      sessionId: 's1',
      location: `${broker.url}/streams/s1/v1:clock.tick`,
      topic: 'streams/s1/v1:clock.tick',
      qos: 0,
    })
    const read = [await frames.next(), await frames.next(), await frames.next()]
    expect(read.map(({ payload, qos }) => [payload, qos])).toEqual([1, 2, 3].map((n) => [`{"n":${n}}`, 0]))
    expect(await responses.until('complete')).toMatchObject({ result: { frames: 3, dropped: 0, ended: 'done' } })
  })

  test('a second stream of an operation in a session has a topic of its own, and both end by unsubscribing', async () => {
    const { broker } = await startMqttSite([wait])
    const responses = await listen(broker, 'ops/+/response')
    const frames = await listen(broker, 'streams/s1/#')
    const ask = (op: string, requestId: string, args = {}) =>
      request(broker, { op, args, ctx: { requestId, sessionId: 's1' } })

    await ask('v1:clock.wait', 'r1')
    const first = await responses.envelope()
    await ask('v1:clock.wait', 'r2')
    const second = await responses.envelope()
    const topics = [(await frames.next()).topic, (await frames.next()).topic]
    await ask('v1:unsubscribeFromStream', 'r3', { sessionId: 's1' })
    const ends = [
      await responses.until('complete'),
      await responses.until('complete'),
      await responses.until('complete'),
    ]

    expect([first.stream?.topic, second.stream?.topic]).toEqual(topics)
    expect(topics).toEqual(['streams/s1/v1:clock.wait', 'streams/s1/v1:clock.wait/r2'])
    expect(new Map(ends.map(({ requestId, result }) => [requestId, result]))).toEqual(
      new Map<string, unknown>([
        ['r1', { frames: 1, dropped: 0, ended: 'unsubscribed' }],
        ['r2', { frames: 1, dropped: 0, ended: 'unsubscribed' }],
        ['r3', { ended: expect.arrayContaining(['r1', 'r2']) }],
      ]),
    )
    // The first topic is free again.
    await ask('v1:clock.wait', 'r4')
    expect((await responses.envelope()).stream?.topic).toBe('streams/s1/v1:clock.wait')
  })

  test('callers that choose the same session and request id have topics of their own', async () => {
    const { broker } = await startMqttSite([wait])
    const responses = await listen(broker, 'ops/+/response')
    const topics: unknown[] = []
    for (const [auth, requestId] of [
      [AUTH, 'r1'],
      [BOB, 'r2'],
      [AUTH, 'r3'],
      [BOB, 'r3'],
    ] as const) {
      await request(broker, { op: 'v1:clock.wait', auth, ctx: { requestId, sessionId: 'alice' } })
      topics.push((await responses.until('streaming')).stream?.topic)
    }

    const plain = 'streams/alice/v1:clock.wait'
    expect(topics.slice(0, 3)).toEqual([plain, `${plain}/r2`, `${plain}/r3`])
    expect(topics[3]).toMatch(/^streams\/alice\/v1:clock\.wait\/r3\/[\w-]{8,}$/)
  })

  test('two nodes give no topic twice', async () => {
    const broker = await startBroker()
    await startPair({ operations: [wait], auth: { tokens: TOKENS ?? [] }, mqtt: { url: broker.url } })
    const responses = await listen(broker, 'ops/+/response')
    const ids = Array.from({ length: 8 }, (_, index) => `r${index}`)

    const topics: unknown[] = []
    for (const requestId of ids) {
      await request(broker, { op: 'v1:clock.wait', ctx: { requestId, sessionId: 's1' } })
      topics.push((await responses.until('streaming')).stream?.topic)
    }

    const plain = 'streams/s1/v1:clock.wait'
    expect(topics).toEqual([plain, ...ids.slice(1).map((requestId) => `${plain}/${requestId}`)])
  })

  test('ids cannot leave their level of the topic', async () => {
    const { broker } = await startMqttSite([tick])
    const responses = await listen(broker, 'ops/r1/response')
    const sessionId = '../+/#/\u0000 ü'

    await request(broker, { op: 'v1:clock.tick', args: { count: 0 }, ctx: { requestId: 'r1', sessionId } })

    const { stream } = await responses.envelope()
    const topic = stream?.topic as string
    expect(topic).toMatch(/^streams\/[^/+#]+\/v1:clock\.tick$/)
    expect(decodeURIComponent(new URL(stream?.location as string).pathname)).toBe(`/${topic}`)
  })

  test('frames with integrity are sent at QoS 1, with their number and checksum', async () => {
    const sealed = operation('v1:clock.sealed', { args, frame, stream: { integrity: 'crc32' }, run: tickOf })
    const { broker } = await startMqttSite([sealed])
    const hex = ['-V', 'mqttv5', '-q', '1', '-t', 'streams/s1/#', '-F', '{"payload":"%x","qos":%q}']
    await using frames = await mosquittoSub(broker.port, hex)

    await request(broker, { op: 'v1:clock.sealed', args: { count: 2 }, ctx: { requestId: 'r1', sessionId: 's1' } })

    for (const seq of [1, 2]) {
      const { payload, qos } = await frames.next()
      const opened = openSeal(Buffer.from(payload, 'hex'))
      expect([opened.seq, Buffer.from(opened.payload).toString(), qos]).toEqual([seq, `{"n":${seq}}`, 1])
    }
  })

  test('a call over HTTP can ask for frames over MQTT', async () => {
    const gate = createGate<void>()
    const later = operation('v1:clock.later', {
      frame,
      async *run() {
        await gate.pass()
        yield { n: 7 }
      },
    })
    const site = await startMqttSite([later])
    const headers = { authorization: `Bearer ${AUTH.credential}` }
    const { body } = await site.call('v1:clock.later', { transport: 'mqtt' }, { requestId: 'r1' }, { headers })
    const { transport, topic, sessionId } = body.stream as StreamBody
    const frames = await listen(site.broker, String(topic))
    gate.open()

    expect([transport, topic]).toEqual(['mqtt', `streams/${sessionId}/v1:clock.later`])
    expect((await frames.next()).payload).toBe('{"n":7}')
  })
})

async function* tickOf({ count }: { count: number }) {
  for (let n = 1; n <= count; n++) yield { n }
}
