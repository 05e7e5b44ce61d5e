/** The carrier passes the suites that all carriers of messages and of frames must pass, on a real broker. */
import mqtt from 'mqtt'
import { describe, expect, test } from 'vitest'
import { Broker, createMqttCarrier, MqttFrames } from '../../../src/carriers/mqtt/index.ts'
import type { Log } from '../../../src/core/ports/runtime.ts'
import type { Message, OpenSession } from '../../../src/core/ports/session.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'
import { describeFrames } from '../../../src/testing/suites/frames/frames.ts'
import { describeMessages } from '../../../src/testing/suites/messages/messages.ts'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { startMosquitto } from '../../engines/mosquitto.ts'
import { openTap } from './tap.ts'

const runner = { describe, test, expect }
/** mosquitto would drop messages of a publisher that is much faster than the subscriber, or save them all at each one. */
const UNBOUNDED = { settings: ['max_queued_messages 0', 'persistence false'] }

/** On a clock that stands still, so that a message is not offered again in the middle of a story. */
function connectBroker(url: string, log: Log): { broker: Broker; frames: MqttFrames } {
  const broker = new Broker({
    url,
    clientId: 'carrier',
    version: '5',
    sessionExpirySeconds: 60,
    maxInFlight: 1_000,
    subscription: '$share/nodes/in/+',
    clock: createManualClock(),
    log,
  })
  return { broker, frames: new MqttFrames(broker, { url, topics: ({ id }) => [`frames/${id}`] }) }
}

describeWith(mqttBroker, 'the shared suites', () => {
  describeMessages(
    runner,
    'messages over MQTT',
    async (open, { maxBytes, log }) => {
      const mosquitto = await startMosquitto(UNBOUNDED)
      const sent = new Sent()
      const tap = await openTap(mosquitto.port, (packet) => sent.acknowledged(packet))
      const { broker, frames } = connectBroker(`mqtt://127.0.0.1:${tap.port}`, log)
      const carrier = createMqttCarrier({
        name: 'mqtt',
        broker,
        frames,
        open: sent.watch(open),
        origin: () => 'http://a.example',
        topics: {
          requests: 'in/+',
          allowed: ['out'],
          about: (subject) => `out/${subject}`,
          subject: (topic) => topic.slice('in/'.length),
        },
        inPlaceOf: (_, why) => why.message,
        limits: { maxBytes, maxInFlight: 1_000 },
        clock: createManualClock(),
        log,
      })
      await carrier.listen()
      const peer = await mqtt.connectAsync(mosquitto.url, { protocolVersion: 5 })
      const read = reader(peer, END)
      await peer.subscribeAsync('out', { qos: 1 })
      let closing: Promise<void> | undefined
      const close = () => {
        closing ??= carrier.close(10_000).then(() => publishEnd(mosquitto.url))
        return closing
      }
      return {
        async send(message) {
          const correlationData = Buffer.from(sent.mark(message))
          await peer.publishAsync('in/x', Buffer.from(message), {
            qos: 1,
            properties: { responseTopic: 'out', correlationData },
          })
          return sent.outcome(message)
        },
        async read() {
          return (await read())?.toString()
        },
        leave: () => peer.endAsync(true),
        close,
        async cleanup() {
          await close()
          await peer.endAsync(true)
          await tap[Symbol.asyncDispose]()
          await mosquitto[Symbol.asyncDispose]()
        },
      }
    },
    { acknowledges: true, knowsPeer: false },
  )

  describeFrames(
    runner,
    'frames over MQTT',
    async () => {
      const mosquitto = await startMosquitto(UNBOUNDED)
      const { broker, frames } = connectBroker(mosquitto.url, createMemoryLog([]))
      await broker.connect(1_000, () => undefined)
      const peer = await mqtt.connectAsync(mosquitto.url, { protocolVersion: 5 })
      const next = reader(peer, END)
      await peer.subscribeAsync('frames/#')
      const place = await frames.place({
        id: 'i',
        requestId: 'r',
        sessionId: 's',
        operation: 'v1:it.streams',
        encoding: 'json',
        sealed: false,
        claim: async () => true,
        owner: 'main|ada',
        origin: 'http://a.example',
      })
      const channel = await place.open?.()
      if (!channel) throw new Error('The channel opens from this node.')
      return {
        channel,
        reader: { next, pause: () => {}, resume: () => {}, leave: () => {}, ended: async () => 'complete' as const },
        async cleanup() {
          frames.close()
          await broker.close(1_000)
          await peer.endAsync(true)
          await mosquitto[Symbol.asyncDispose]()
        },
      }
    },
    { knowsReader: false, tellsEnd: false },
  )
})

const END = 'the end of a story'

async function publishEnd(url: string): Promise<void> {
  const client = await mqtt.connectAsync(url)
  await client.publishAsync('out', END, { qos: 1 })
  await client.endAsync()
}

/** Reads messages one after the other, up to the last. */
function reader(client: mqtt.MqttClient, last: string): () => Promise<Buffer | undefined> {
  const arrived: Buffer[] = []
  const waiting: ((message: Buffer) => void)[] = []
  client.on('message', (_topic, payload) => {
    const wake = waiting.shift()
    if (wake) wake(payload)
    else arrived.push(payload)
  })
  return async () => {
    const message = arrived.shift() ?? (await new Promise<Buffer>((resolve) => waiting.push(resolve)))
    return message.toString() === last ? undefined : message
  }
}

/**
 * What happened to each message: acknowledged on the wire, or failed in the session. Messages with the same text share
 * their fate in these stories.
 */
class Sent {
  readonly #outcomes = new Map<string, PromiseWithResolvers<boolean>>()
  readonly #texts: string[] = []

  /** The mark is carried in the packet, and says which message was acknowledged. */
  mark(message: Message): string {
    const text = textOf(message)
    if (!this.#outcomes.has(text)) this.#outcomes.set(text, Promise.withResolvers())
    return `<${this.#texts.push(text) - 1}>`
  }

  async outcome(message: Message): Promise<boolean> {
    return this.#outcomes.get(textOf(message))?.promise ?? true
  }

  acknowledged(packet: Buffer): void {
    const [, mark] = /<(\d+)>/.exec(packet.toString('latin1')) ?? []
    this.#settle(this.#texts[Number(mark)] ?? '', true)
  }

  watch(open: OpenSession): OpenSession {
    return (connection) => {
      const session = open(connection)
      const receive = async (message: Message) => {
        try {
          await session.receive(message)
        } catch (thrown) {
          this.#settle(textOf(message), false)
          throw thrown
        }
      }
      return { ...session, receive }
    }
  }

  #settle(text: string, isAcknowledged: boolean): void {
    this.#outcomes.get(text)?.resolve(isAcknowledged)
  }
}

function textOf(message: Message): string {
  return Buffer.from(message).toString('latin1')
}
