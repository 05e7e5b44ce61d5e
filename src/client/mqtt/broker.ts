/** A client of an MQTT broker. It is subscribed to the place of a response before it publishes the call. */
import { randomBytes } from 'node:crypto'
import type { IClientOptions, IClientPublishOptions, IPublishPacket, MqttClient } from 'mqtt'
import { responseTopic, sessionTopics } from '../../protocols/opencall/topics.ts'
import { delayMs } from '../calling.ts'
import { newId } from '../ids.ts'
import { packageMissing, unreachable } from '../messages/envelopes.ts'
import type { Link, LinkEvents, OpenLink } from '../messages/link.ts'
import { systemClock } from '../time.ts'

export interface MqttBrokerOptions {
  /** `mqtt://`, `mqtts://`, `ws://` or `wss://`. */
  url: string
  /** The login at the broker (default: that in `url`). */
  username?: string
  password?: string
  /** In PEM. */
  tls?: { ca?: string; cert?: string; key?: string }
  /** Must be unique at the broker (default: a random one). */
  clientId?: string
  /** Default: `5`. */
  version?: '5' | '3.1.1'
  /**
   * The topic of all responses to this client, which the server must allow (its option `mqtt.responseTopics`). Needs
   * MQTT 5. Default: a topic for each call, `ops/{requestId}/response`.
   */
  responseTopic?: string
}

const CONNECT_TIMEOUT_MS = 15_000
const CONFIRMED = { qos: 1 } as const
/** In the list of granted subscriptions, a number from here on is a refusal. */
const REFUSED = 128
/** The reason code of a confirmed message that no one gets. MQTT 3.1.1 has none. */
const NO_SUBSCRIBERS = 0x10
const MAX_TRIES = 8

export class MqttBroker {
  readonly #options: MqttBrokerOptions
  /** Comes back with every response to this client. Others can publish to its topic, but do not know it. */
  readonly #correlation = randomBytes(16)
  /** The sessions whose frames are read, with the number of their readers. */
  readonly #sessions = new Map<string, number>()
  #client: MqttClient | undefined

  constructor(options: MqttBrokerOptions) {
    this.#options = options
  }

  readonly open: OpenLink = async (events) => {
    const { responseTopic: own } = this.#options
    const client = await this.#connect()
    client.on('message', (topic, payload, packet) => this.#receive(events, topic, payload, packet))
    client.on('close', () => events.lost(`The connection to ${this.#host} was lost.`))
    // An error is followed by the end of the connection.
    client.on('error', () => client.end(true))
    await subscribe(client, [...this.#sessions.keys(), ...(own === undefined ? [] : [own])])
    this.#client = client
    return this.#linkOver(client)
  }

  /** Frames of the session arrive until `close`. A broker keeps none for a reader that comes later. */
  async listenToSession(sessionId: string | undefined): Promise<{ sessionId: string; close(): void }> {
    const id = sessionId ?? newId()
    const topics = sessionTopics(id)
    this.#sessions.set(topics, (this.#sessions.get(topics) ?? 0) + 1)
    const client = this.#client
    // Without a connection, the next one begins with the subscription.
    if (client?.connected) await subscribe(client, [topics])
    let isOpen = true
    return {
      sessionId: id,
      close: () => {
        const readers = (this.#sessions.get(topics) ?? 0) - (isOpen ? 1 : 0)
        isOpen = false
        if (readers > 0) this.#sessions.set(topics, readers)
        else if (this.#sessions.delete(topics) && this.#client?.connected) this.#client.unsubscribe(topics)
      },
    }
  }

  get #host(): string {
    return new URL(this.#options.url).host
  }

  async #connect(): Promise<MqttClient> {
    const { url, clientId = `callplane-${newId()}`, version = '5', username, password, tls } = this.#options
    const mqtt = await import('mqtt').catch((cause) => {
      throw packageMissing('mqtt', cause)
    })
    const options: IClientOptions = {
      clientId,
      protocolVersion: version === '5' ? 5 : 4,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // The client of Callplane connects again when a call needs it, and sends what was not answered.
      reconnectPeriod: 0,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...tls,
    }
    try {
      return await mqtt.default.connectAsync(url, options, false)
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message || String((thrown as NodeJS.ErrnoException).code) : thrown
      throw unreachable(`No connection to the MQTT broker ${this.#host}: ${why}.`, thrown)
    }
  }

  #linkOver(client: MqttClient): Link {
    const { responseTopic: own, version = '5' } = this.#options
    const properties = {
      ...(own !== undefined && { responseTopic: own }),
      correlationData: this.#correlation,
    }
    const publish = createPublisher(client)
    return {
      listen: async (requestId) => {
        if (own === undefined) await subscribe(client, [responseTopic(requestId)])
      },
      forget(requestId) {
        if (own === undefined && client.connected) client.unsubscribe(responseTopic(requestId))
      },
      async send({ text, operation }) {
        await publish(`ops/${operation}`, text, version === '5' ? { ...CONFIRMED, properties } : CONFIRMED)
      },
      close: () => client.end(true),
    }
  }

  #receive(events: LinkEvents, topic: string, payload: Buffer, { retain, properties }: IPublishPacket): void {
    if (retain) return
    const { responseTopic: own } = this.#options
    const isOurs = own === undefined || properties?.correlationData?.equals(this.#correlation)
    if (topic.startsWith('streams/')) events.frame(topic, new Uint8Array(payload))
    else if (isOurs) events.message(payload.toString())
  }
}

/**
 * Publishes until someone reads it. After a restart of the broker, the server may come back later than this client, and
 * the broker has no reader yet.
 */
function createPublisher(client: MqttClient) {
  // The library tells the reason of a confirmation in this event only.
  const unread = new Set<number | undefined>()
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'puback' && packet.reasonCode === NO_SUBSCRIBERS) unread.add(packet.messageId)
  })
  return async (topic: string, text: string, options: IClientPublishOptions): Promise<void> => {
    for (let tries = 0; ; tries++) {
      const published = await client.publishAsync(topic, text, options).catch((cause) => {
        throw unreachable('The MQTT broker did not take the call.', cause)
      })
      if (!unread.delete(published?.messageId)) return
      if (tries >= MAX_TRIES) throw unreachable(`No server reads ${topic} at the MQTT broker.`)
      await systemClock.wait(delayMs(tries), undefined)
    }
  }
}

async function subscribe(client: MqttClient, topics: string[]): Promise<void> {
  if (topics.length === 0) return
  const granted = await client.subscribeAsync(topics, { ...CONFIRMED, rh: 2 }).catch((cause) => {
    throw unreachable('The MQTT broker did not confirm a subscription.', cause)
  })
  const refused = granted.find(({ qos }) => Number(qos) >= REFUSED)
  if (refused) throw unreachable(`The MQTT broker refuses the subscription to ${refused.topic}.`)
}
