/** OpenCALL through mosquitto, with MQTT.js as every caller. */
import mqtt from 'mqtt'
import { onTestFinished } from 'vitest'
import { mqttBroker } from '../../../engines/engines.ts'
import { type Mosquitto, startMosquitto } from '../../../engines/mosquitto.ts'
import { type Answered, Arrivals, authOf, type Carrier, envelopeOf, envelopeWays, type Reached } from './carrier.ts'

interface Sending {
  qos?: 0 | 1
  headers?: Readonly<Record<string, string>>
}

let broker: Mosquitto | undefined

export const mqttCarrier: Carrier = {
  engine: mqttBroker,
  async start() {
    // Otherwise each answer waits for 40 ms.
    broker = await startMosquitto({ settings: ['set_tcp_nodelay true'] })
    return broker
  },
  prepare() {
    // Names of its own for each server: an earlier one leaves its session at the broker.
    const group = crypto.randomUUID()
    return {
      options: { mqtt: { url: broker?.url ?? '', clientId: group, group, responseTopics: ['replies/#'] } },
      reach,
    }
  },
}

async function reach(): Promise<Reached> {
  const client = await mqtt.connectAsync(broker?.url ?? '', { protocolVersion: 5 })
  onTestFinished(() => client.endAsync(true))
  const topics = new Map<string, Arrivals<Buffer>>()
  client.on('message', (topic, payload) => topics.get(topic)?.add(payload))
  await client.subscribeAsync(['replies/#', 'streams/#'], { qos: 1 })
  const listen = (topic: string) => {
    const arrivals = new Arrivals<Buffer>()
    topics.set(topic, arrivals)
    return arrivals
  }
  const publish = async (text: string, { qos = 1, headers }: Sending = {}): Promise<Answered> => {
    const responseTopic = `replies/${crypto.randomUUID()}`
    const responses = listen(responseTopic)
    // MQTT.js sends an empty list in a form that brokers refuse.
    const named = headers && Object.keys(headers).length > 0 && { userProperties: { ...headers } }
    const properties = { responseTopic, ...named }
    await client.publishAsync(`ops/${JSON.parse(text).op}`, text, { qos, properties })
    return JSON.parse(String(await responses.next()))
  }
  const send = (who: Parameters<Reached['send']>[0], envelope: object, sending?: Sending) =>
    publish(JSON.stringify({ ...envelope, auth: authOf(who) }), sending)
  return {
    send,
    sendText: (text, headers) => publish(text, { headers }),
    ways: {
      ...envelopeWays(send),
      'QoS 0': ({ who, op, args }) => send(who, envelopeOf({ op, args }), { qos: 0 }),
    },
    async watch(who, { op, args, ctx }) {
      const sessionId = crypto.randomUUID()
      const frames = listen(`streams/${sessionId}/${op}`)
      await send(who, { op, args, ctx: { ...ctx, sessionId } })
      return { next: async () => JSON.parse(String(await frames.next())) }
    },
  }
}
