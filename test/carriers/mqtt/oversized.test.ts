/** Messages that are larger than the broker allows: their callers learn it, and the carrier goes on. */
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { AUTH, listen, type MqttSite, request, startBroker, startMqttSite } from './site.ts'

vi.setConfig({ testTimeout: 60_000 })

const LARGE = 400_000
const PACKETS = ['max_packet_size 300000']
const MESSAGES = ['message_size_limit 300000']

const greet = operation('v1:it.greets', { run: () => 'hello' })
const write = operation('v1:it.writes', { run: () => 'x'.repeat(LARGE) })
const writeLater = operation('v1:it.writesLater', { model: 'async', run: async () => 'x'.repeat(LARGE) })

/** Sends one small frame, then a large one. */
function stream(integrity: 'crc32' | false) {
  return operation('v1:it.streams', {
    frame: jsonSchema<string>({ type: 'string' }),
    stream: { integrity },
    async *run() {
      yield 'small'
      yield 'x'.repeat(LARGE)
    },
  })
}

async function expectGreeting({ broker }: MqttSite): Promise<void> {
  const responses = await listen(broker, 'ops/later/response')
  await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'later' } })
  expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 'hello' })
}

async function endOf({ broker }: MqttSite, op: string) {
  const responses = await listen(broker, 'ops/r1/response')
  await request(broker, { op, ctx: { requestId: 'r1', sessionId: 's1' } })
  for (;;) {
    const envelope = await responses.envelope()
    if (envelope.state === 'error' || envelope.state === 'complete') return envelope
  }
}

const TOO_LARGE = {
  requestId: 'r1',
  sessionId: 's1',
  state: 'error',
  error: { code: expect.stringContaining('RESPONSE_TOO_LARGE') },
}

describeWith(mqttBroker, 'messages that the MQTT broker refuses', () => {
  test.for([
    ['a frame at QoS 0', PACKETS, false, {}],
    ['a frame at QoS 1', PACKETS, 'crc32', {}],
    ['a frame at QoS 1 that only the broker finds too large', MESSAGES, 'crc32', {}],
    ['a frame at QoS 1 that ends the connection of MQTT 3.1.1', PACKETS, 'crc32', { version: '3.1.1' }],
    ['a frame above the configured size', [], false, { version: '3.1.1', maxPacketBytes: 300_000 }],
  ] as const)('%s ends its stream in error', async ([, settings, integrity, mqtt]) => {
    const broker = await startBroker({ settings })
    const site = await startMqttSite([greet, stream(integrity)], { mqtt: { url: broker.url, ...mqtt } }, broker)

    expect(await endOf(site, 'v1:it.streams')).toMatchObject({
      state: 'error',
      error: { code: expect.stringContaining('FRAME_TOO_LARGE') },
    })
    await expectGreeting(site)
  })

  test.for([
    ['of MQTT 5 with a known limit', PACKETS, {}],
    ['of MQTT 5 that only the broker finds too large', MESSAGES, {}],
    ['that ends the connection of MQTT 3.1.1', PACKETS, { version: '3.1.1' }],
    ['above the configured size', [], { version: '3.1.1', maxPacketBytes: 300_000 }],
  ] as const)('a response %s is replaced by an error', async ([, settings, mqtt]) => {
    const broker = await startBroker({ settings })
    const operations = [greet, write, writeLater]
    const site = await startMqttSite(operations, { mqtt: { url: broker.url, ...mqtt } }, broker)

    expect(await endOf(site, 'v1:it.writes')).toMatchObject(TOO_LARGE)
    await expectGreeting(site)
  })

  test('frames at QoS 0 that end the connection of MQTT 3.1.1 are counted and logged, and then end the stream', async () => {
    const broker = await startBroker({ settings: PACKETS })
    const lines: string[] = []
    /** Each large frame is sent over a new connection, because the one before it ended the last. */
    const persistent = operation('v1:it.streams', {
      frame: jsonSchema<string>({ type: 'string' }),
      async *run(_args, { signal }) {
        while (!signal.aborted) {
          const before = lines.length
          yield 'x'.repeat(LARGE)
          while (!signal.aborted && lines.length === before) await new Promise((resolve) => setImmediate(resolve))
        }
      },
    })
    const logTo = { write: (line: string) => void (line.includes('probably lost') && lines.push(line)) }
    const mqtt = { url: broker.url, version: '3.1.1' as const }
    const site = await startMqttSite([greet, persistent], { mqtt, log: 'warn', logTo }, broker)

    const end = await endOf(site, 'v1:it.streams')
    const metrics = await site.request('/metrics', { headers: { Authorization: `Bearer ${AUTH.credential}` } })

    expect(end).toMatchObject({ state: 'error', error: { code: expect.stringContaining('FRAME_TOO_LARGE') } })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { bytes: LARGE + 2, lostMessages: 1, topic: expect.any(String) },
      { lostMessages: 2 },
      { lostMessages: 3 },
    ])
    expect(await metrics.text()).toContain('callplane_mqtt_lost_messages_total 3')
    await expectGreeting(site)
  })

  test('the end of a slow call that ends the connection is replaced by an error', async () => {
    const broker = await startBroker({ settings: PACKETS })
    const site = await startMqttSite([greet, writeLater], { mqtt: { url: broker.url, version: '3.1.1' } }, broker)

    expect(await endOf(site, 'v1:it.writesLater')).toMatchObject(TOO_LARGE)
    await expectGreeting(site)
  })
})
