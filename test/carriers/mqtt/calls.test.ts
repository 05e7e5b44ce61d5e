/** OpenCALL calls through a real broker, made with mosquitto's own programs. */
import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { mosquittoPub } from '../../engines/mosquitto-clients.ts'
import { verifies } from '../../requirements.ts'
import { createGate } from '../../scenarios/server.ts'
import { readChunks } from '../read-chunks.ts'
import { AUTH, BOB, listen, request, startBroker, startMqttSite } from './site.ts'

const add = operation('v1:sums.add', {
  args: jsonSchema<{ a: number; b: number }>({
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { type: 'number' }, b: { type: 'number' } },
  }),
  run: ({ a, b }) => a + b,
})

const ROW = 'a row that is longer than a chunk'

describeWith(mqttBroker, 'calls over MQTT', () => {
  test.each(['mqttv5', 'mqttv311'])(
    'a sync call is answered on the topic of its request id, with %s',
    async (version) => {
      verifies('opencall:309', 'opencall:310')
      const { broker } = await startMqttSite([add])
      const responses = await listen(broker, 'ops/r1/response', version)

      await request(broker, { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' } }, ['-V', version])

      const { payload, qos } = await responses.next()
      expect(JSON.parse(payload)).toMatchObject({ requestId: 'r1', state: 'complete', result: 3 })
      expect(qos).toBe(1)
    },
  )

  test('a name with its version as suffix is an alias, in the topic and in the envelope', async () => {
    const { broker } = await startMqttSite([add])
    const responses = await listen(broker, 'ops/+/response')
    const args = { a: 1, b: 2 }

    await request(broker, { op: 'sums.add:v1', args, ctx: { requestId: 'r1' } })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', result: 3, meta: { op: 'v1:sums.add' } })
    await request(broker, { op: 'sums.add:v1', args, ctx: { requestId: 'r2' } }, ['-t', 'ops/v1:sums.add'])
    expect(await responses.envelope()).toMatchObject({ requestId: 'r2', result: 3 })
    await request(broker, { op: 'sums.add:v2', args, ctx: { requestId: 'r3' } }, ['-t', 'ops/v1:sums.add'])
    expect(await responses.envelope()).toMatchObject({ requestId: 'r3', error: { code: 'OP_MISMATCH' } })
  })

  test('the server speaks MQTT 3.1.1 to a broker that needs it', async () => {
    const broker = await startBroker()
    const site = await startMqttSite([add], { mqtt: { url: broker.url, version: '3.1.1' } }, broker)
    const responses = await listen(broker, 'ops/r1/response')

    await request(broker, { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' } })

    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 3 })
    expect(await (await site.request('/ready')).json()).toMatchObject({
      status: 'ok',
      carriers: { mqtt: { connected: true } },
    })
  })

  test('every later state of an async call is published', async () => {
    const gate = createGate()
    const make = operation('v1:reports.make', {
      model: 'async',
      async run(_, ctx) {
        ctx.progress(0.5, 'half way')
        return gate.pass()
      },
    })
    const { broker } = await startMqttSite([make])
    const responses = await listen(broker, 'ops/r1/response')

    await request(broker, { op: 'v1:reports.make', ctx: { requestId: 'r1' } })
    const states = [(await responses.envelope()).state]
    await gate.began
    gate.open({ rows: 3 })
    for (;;) {
      const { state, result } = await responses.envelope()
      states.push(state)
      if (state === 'complete') expect(result).toEqual({ rows: 3 })
      if (state === 'complete') break
    }

    expect(states[0]).toBe('accepted')
    expect(states).toContain('pending')
  })

  test('calls are polled, canceled and read in chunks by built-in operations', async () => {
    const gate = createGate()
    const wait = operation('v1:it.waits', {
      model: 'async',
      run: (_, { signal }) => Promise.race([gate.pass(), aborted(signal)]),
    })
    const lines = operation('v1:it.lists', {
      chunked: { mimeType: 'text/plain' },
      async *run() {
        for (let row = 0; row < 3; row++) yield `${ROW}\n`
      },
    })
    const { broker } = await startMqttSite([wait, lines], { sizes: { chunkBytes: 16 } })
    const responses = await listen(broker, 'ops/+/response')
    const ask = async (op: string, requestId: string, args = {}, state = /./) => {
      await request(broker, { op, args, ctx: { requestId } })
      for (;;) {
        const envelope = await responses.envelope()
        if (envelope.requestId === requestId && state.test(envelope.state)) return envelope
      }
    }

    await ask('v1:it.waits', 'r1')
    await gate.began
    expect(await ask('v1:getOperation', 'r2', { requestId: 'r1' })).toMatchObject({ result: { state: 'pending' } })
    expect(await ask('v1:cancelOperation', 'r3', { requestId: 'r1' })).toMatchObject({ state: 'complete' })
    expect(await ask('v1:getOperation', 'r4', { requestId: 'r1' })).toMatchObject({
      result: { state: 'error', error: { code: 'CANCELED' } },
    })
    await ask('v1:it.lists', 'r5', {}, /complete/)
    const read = await readChunks('r5', (args, askId) => ask('v1:getChunk', askId, args))
    expect(read).toEqual({ text: `${ROW}\n`.repeat(3), count: 7 })
  })

  test('MQTT 5: the response goes to the allowed response topic, with the correlation data', async () => {
    const { broker } = await startMqttSite([add], { mqtt: { url: '', responseTopics: ['replies/#'] } })
    const replies = await listen(broker, 'replies/alice/1')

    const properties = [
      '-D',
      'publish',
      'response-topic',
      'replies/alice/1',
      '-D',
      'publish',
      'correlation-data',
      'c-7',
    ]
    await request(broker, { op: 'v1:sums.add', args: { a: 2, b: 2 }, ctx: { requestId: 'r1' } }, properties)

    const { payload, properties: got } = await replies.next()
    expect(JSON.parse(payload)).toMatchObject({ requestId: 'r1', result: 4 })
    expect(got).toMatchObject({ 'correlation-data': 'c-7' })
  })

  test.each(['secrets/of/others', '$SYS/broker', 'ops/v1:sums.add', 'ops/+/response', 'replies'])(
    'the foreign response topic %s is refused, and the error goes to the default topic',
    async (foreign) => {
      const { broker } = await startMqttSite([add], { mqtt: { url: '', responseTopics: ['replies/+'] } })
      const responses = await listen(broker, 'ops/r1/response')

      const envelope = { op: 'v1:sums.add', args: { a: 2, b: 2 }, ctx: { requestId: 'r1' } }
      await request(broker, envelope, ['-D', 'publish', 'response-topic', foreign])

      expect(await responses.envelope()).toMatchObject({
        requestId: 'r1',
        state: 'error',
        error: { code: 'RESPONSE_TOPIC_NOT_ALLOWED' },
      })
    },
  )

  test('without an auth block the call is refused, also if the broker knows the client', async () => {
    verifies('opencall:234', 'opencall:239', 'opencall:312', 'opencall:313')
    const broker = await startBroker({ users: { device: 'device-password', server: 'server-password' } })
    const url = broker.url.replace('//', '//server:server-password@')
    await startMqttSite([add], { mqtt: { url } }, broker)
    const login = ['-u', 'device', '-P', 'device-password']
    const responses = await listen(broker, 'ops/r1/response', 'mqttv5', login)

    await request(broker, { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' }, auth: undefined }, login)
    expect(await responses.envelope()).toMatchObject({
      requestId: 'r1',
      state: 'error',
      error: { code: 'AUTH_REQUIRED' },
    })
    await request(broker, { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' } }, login)
    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', state: 'complete' })
    const wrong = { ...AUTH, credential: 'wrong' }
    await request(broker, { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' }, auth: wrong }, login)
    expect(await responses.envelope()).toMatchObject({ state: 'error', error: { code: 'AUTH_REQUIRED' } })
  })

  test('scopes count as on every transport, and callers do not see the calls of others', async () => {
    verifies('opencall:240')
    const scoped = operation('v1:sums.secret', { scopes: ['sums:read'], ttlSeconds: 60, run: () => 42 })
    const { broker } = await startMqttSite([scoped])
    const responses = await listen(broker, 'ops/+/response')

    await request(broker, { op: 'v1:sums.secret', ctx: { requestId: 'r1' }, auth: BOB })
    expect(await responses.envelope()).toMatchObject({ state: 'error', error: { code: 'INSUFFICIENT_SCOPE' } })
    await request(broker, { op: 'v1:sums.secret', ctx: { requestId: 'r1' } })
    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 42 })
    await request(broker, { op: 'v1:getOperation', args: { requestId: 'r1' }, ctx: { requestId: 'r2' }, auth: BOB })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r2', state: 'error', error: { code: 'NOT_FOUND' } })
  })

  test('side effects need QoS 1; at QoS 0 they are refused, and other calls run', async () => {
    verifies('opencall:315')
    let orders = 0
    const order = operation('v1:it.orders', { sideEffecting: true, run: () => ++orders })
    const { broker } = await startMqttSite([order, add])
    const responses = await listen(broker, 'ops/r1/response')
    const ask = (op: string, qos: string) =>
      request(broker, { op, args: { a: 1, b: 1 }, ctx: { requestId: 'r1', idempotencyKey: `k${qos}` } }, ['-q', qos])

    await ask('v1:it.orders', '0')
    expect(await responses.envelope()).toMatchObject({ state: 'error', error: { code: 'DELIVERY_NOT_GUARANTEED' } })
    expect(orders).toBe(0)
    await ask('v1:sums.add', '0')
    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 2 })
    await ask('v1:it.orders', '2')
    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 1 })
  })

  test('an envelope on the topic of another operation is refused', async () => {
    const { broker } = await startMqttSite([add])
    const responses = await listen(broker, 'ops/r1/response')
    const envelope = { op: 'v1:sums.add', args: { a: 1, b: 2 }, ctx: { requestId: 'r1' }, auth: AUTH }

    await mosquittoPub(broker.port, ['-t', 'ops/v1:sums.sub', '-q', '1', '-m', JSON.stringify(envelope)])
    expect(await responses.envelope()).toMatchObject({ state: 'error', error: { code: 'OP_MISMATCH' } })
    await mosquittoPub(broker.port, ['-t', 'ops/v1%3Asums.add', '-q', '1', '-m', JSON.stringify(envelope)])
    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 3 })
  })

  test('a retained message is not a call', async () => {
    let runs = 0
    const count = operation('v1:it.counts', { ttlSeconds: 60, run: () => ++runs })
    const broker = await startBroker()
    const envelope = { op: 'v1:it.counts', ctx: { requestId: 'old' } }
    await request(broker, envelope, ['-r'])
    for (const version of ['5', '3.1.1'] as const) {
      const mqtt = { url: broker.url, version, group: false as const, clientId: `node${version.length}` }
      const site = await startMqttSite([count], { mqtt }, broker)
      const responses = await listen(broker, 'ops/new/response')

      await request(broker, { ...envelope, ctx: { requestId: 'new' } })
      expect(await responses.envelope()).toMatchObject({ result: expect.any(Number) })
      await site.close()
    }

    expect(runs).toBe(2)
  })
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}
