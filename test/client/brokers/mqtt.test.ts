/** The client through mosquitto. */
import { createToken } from 'callplane'
import { createClient } from 'callplane/client'
import { mqttTransport } from 'callplane/client/mqtt'
import mqtt from 'mqtt'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { packetReader } from '../../carriers/mqtt/tap.ts'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { type Mosquitto, startMosquitto } from '../../engines/mosquitto.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { createOperations, type Operations } from '../transports/operations.ts'
import { startRelay } from '../transports/relay.ts'
import { describeTransport } from '../transports/suite.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** A broker needs some seconds to start again. */
const retries = 20
const { token, hash } = createToken()
const auth = { tokens: [{ kind: 'bearer' as const, hash, subject: 'ada', scopes: ['*'] }] }

/** The types of packets by their numbers. */
const PACKETS: Readonly<Record<number, string>> = { 3: 'publish', 8: 'subscribe', 9: 'suback' }

describeWith(mqttBroker, 'MQTT', () => {
  let broker: Mosquitto
  beforeAll(async () => {
    broker = await startMosquitto()
  })
  afterAll(() => broker[Symbol.asyncDispose]())

  // A group for each server: the broker keeps requests for the ones before, which do not come back.
  let servers = 0
  const serve = (operations: Operations) =>
    startSite({
      operations: [...operations],
      auth,
      mqtt: { url: broker.url, responseTopics: ['replies/#'], group: `server-${++servers}` },
    })

  async function interrupt() {
    await broker.kill()
    await broker.restart()
  }

  describeTransport('over MQTT', async (operations) => {
    await serve(operations)
    const { url } = broker
    return {
      interrupt,
      createClient: () => createClient<Operations>({ transport: mqttTransport({ url, token }), retries }),
    }
  })

  describeTransport('over MQTT with a response topic of its own', async (operations) => {
    await serve(operations)
    const options = { url: broker.url, token, responseTopic: 'replies/ada/1' }
    return { interrupt, createClient: () => createClient<Operations>({ transport: mqttTransport(options), retries }) }
  })

  test('it is subscribed to the response topic before it publishes the call', async () => {
    verifies('opencall:311')
    const { operations } = createOperations()
    await serve(operations)
    const packets: string[] = []
    const note = (from: string) =>
      packetReader((packet) => packets.push(`${from} ${PACKETS[packet.readUInt8(0) >> 4]}`))
    const { port } = await startRelay(broker.port, { fromClient: note('client'), fromServer: note('broker') })
    const api = createClient<Operations>({ transport: mqttTransport({ url: `mqtt://127.0.0.1:${port}`, token }) })
    onTestFinished(() => api.close())

    await api.orders.getItem({ id: '1' })

    const order = packets.filter((packet) => /subscribe|suback|publish/.test(packet))
    expect(order.slice(0, 3)).toEqual(['client subscribe', 'broker suback', 'client publish'])
    expect(order).toContain('broker publish')
  })

  test('a response that another client publishes to its topic is ignored', async () => {
    const { operations, gate } = createOperations()
    await serve(operations)
    const responseTopic = 'replies/ada/2'
    const api = createClient<Operations>({ transport: mqttTransport({ url: broker.url, token, responseTopic }) })
    const stranger = await mqtt.connectAsync(broker.url, { protocolVersion: 5 })
    onTestFinished(async () => {
      api.close()
      await stranger.endAsync(true)
    })

    const paid = api.orders.pay({ id: 'o1' }, { requestId: 'pay-1' })
    await gate.began
    const forged = JSON.stringify({ requestId: 'pay-1', state: 'complete', result: 666 })
    await stranger.publishAsync(responseTopic, forged, { qos: 1 })
    gate.open(1)

    expect(await paid).toBe(1)
  })
})
