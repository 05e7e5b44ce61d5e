/**
 * The connection to the user's MQTT broker: one persistent session that reconnects with back-off, receives messages for
 * one subscription, and publishes with back-pressure.
 */
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import mqtt, { type IClientOptions, type IClientPublishOptions, type MqttClient } from 'mqtt'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Message } from '../../core/ports/session.ts'
import { BrokerConnection } from './connection.ts'
import { Delivery } from './delivery.ts'
import { LEAST_LIMIT_BYTES, LostMessages } from './lost-messages.ts'
import { hasEndedConnections, Redelivery } from './redelivery.ts'
import { Room } from './room.ts'

export interface BrokerSettings {
  /** Without credentials. */
  url: string
  clientId: string
  version: '5' | '3.1.1'
  username?: string
  password?: string
  tls?: { ca?: string | Uint8Array; cert?: string | Uint8Array; key?: string | Uint8Array }
  /** How long the broker keeps the session of a node that is away. MQTT 3.1.1: forever. */
  sessionExpirySeconds: number
  /** How many messages the broker may send before the first is acknowledged. */
  maxInFlight: number
  /** The largest packet that the broker accepts, if it does not say so itself. */
  maxPacketBytes?: number
  subscription: string
  clock: Clock
  log: Log
}

export interface BrokerState {
  connected: boolean
  detail?: string
}

export interface Publishing {
  qos: 0 | 1
  correlationData?: Buffer
  /**
   * For QoS 1: the broker has the message, or has refused it. `isKnown` is false if the server has closed before it
   * was told.
   */
  settled?(isKnown: boolean, refusal?: Error): void
}

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 30_000
/** After a connection of this length, the next retry is quick again. */
const STABLE_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
const KEEPALIVE_SECONDS = 30
/** Messages that the broker has not acknowledged. Packet ids end at 65,535. */
const MAX_UNCONFIRMED = 1_000
const MAX_UNCONFIRMED_BYTES = 16 * 1024 * 1024
/** MQTT itself allows no more. */
const MAX_PACKET_BYTES = 268_435_455
/**
 * An error keeps the client from acknowledging a message itself. It has no other effect. It is created once: an error for
 * each message cost a sixth of a small call.
 */
const ACKNOWLEDGED_LATER = new Error('The message is acknowledged when it is processed.')
/** Enough for the topic and the properties of a received packet. */
const PACKET_OVERHEAD_BYTES = 128 * 1024
/** The parts of a sent packet around its topic, correlation data and payload take 20 bytes at most. */
const FRAMING_BYTES = 64
/** A broker that ended connections because of a message gets no message of that size for a while. */
const REMEMBER_MS = 600_000

export class Broker {
  readonly #settings: BrokerSettings
  readonly #drained = () => this.#unconfirmed.wake()
  readonly #unconfirmed = new Room(MAX_UNCONFIRMED, MAX_UNCONFIRMED_BYTES)
  #client: MqttClient | undefined
  #connection: BrokerConnection | undefined
  readonly #lostMessages = new LostMessages()
  /** A size that the broker did not take. */
  #learned: { bytes: number; untilMs: number } | undefined
  #subscribed = false
  /** False while MQTT.js repeats earlier messages. It would lose others if the connection ended then. */
  #isReady = false
  #detail: string | undefined = 'The server has not connected to the broker yet.'
  #retryMs = FIRST_RETRY_MS
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor(settings: BrokerSettings) {
    this.#settings = settings
  }

  get state(): BrokerState {
    return this.#detail === undefined ? { connected: true } : { connected: false, detail: this.#detail }
  }

  /** Messages of QoS 0 that are probably lost, because they were too large for the broker. */
  get lostMessages(): number {
    return this.#lostMessages.count
  }

  /** The largest payload that the broker accepts, with a topic and properties of this size. */
  maxPayloadBytes(namesBytes: number): number {
    const { maxPacketBytes = MAX_PACKET_BYTES, clock } = this.#settings
    const { maximumPacketSize = MAX_PACKET_BYTES } = this.#client?.serverProperties ?? {}
    const told = Math.min(maximumPacketSize, maxPacketBytes) - FRAMING_BYTES - namesBytes
    const learned = this.#learned
    if (!learned || learned.untilMs < clock.monotonicMs()) return Math.max(0, told)
    return Math.max(0, Math.min(told, learned.bytes - 1))
  }

  /**
   * Resolves when the broker has confirmed the subscription, or when the first attempt has failed. Further attempts
   * follow. Messages above `maxBytes` may be dropped by the broker.
   */
  async connect(maxBytes: number, receive: (delivery: Delivery) => void): Promise<void> {
    const client = mqtt.connect(this.#settings.url, this.#options(maxBytes))
    this.#client = client
    const first = Promise.withResolvers<void>()
    new Redelivery(client)
    client.handleMessage = (packet, done) => {
      receive(new Delivery(packet, this.#connectionOn(client.stream)))
      if (packet.qos === 0) done()
      else done(ACKNOWLEDGED_LATER)
    }
    client.on('connect', ({ properties }) => {
      this.#isReady = true
      this.#connectionOn(client.stream).ready()
      // Small writes leave at once, also while the broker has not confirmed the last one. MQTT.js does not set it.
      if (client.stream instanceof Socket) client.stream.setNoDelay()
      // The client library ignores the broker's limit. A broker may end the connection of a client that exceeds it.
      this.#unconfirmed.maxCount = Math.min(properties?.receiveMaximum ?? MAX_UNCONFIRMED, MAX_UNCONFIRMED)
      this.#unconfirmed.wake()
      this.#subscribe(client, first.resolve)
    })
    client.on('reconnect', () => {
      // MQTT.js reads the period when the attempt has failed.
      this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS)
      client.options.reconnectPeriod = this.#retryMs * (0.75 + Math.random() / 2)
    })
    client.on('error', (err) => {
      this.#lost(err.message || String((err as NodeJS.ErrnoException).code), err)
      // MQTT.js reads nothing more after a packet that it does not understand. One is mosquitto's confirmation of a
      // message above `message_size_limit`.
      if (client.connected) client.stream.destroy()
    })
    client.on('disconnect', ({ reasonCode }) => this.#lost(`The broker ended the connection (reason ${reasonCode}).`))
    client.on('close', () => {
      this.#isReady = false
      this.#cancelTimer?.()
      this.#lost(this.#detail ?? 'The connection to the broker was lost.')
      if (!this.#closed) this.#findLostMessage()
      this.#unconfirmed.wake()
      first.resolve()
    })
    client.connect()
    await first.promise
  }

  /** Waits while too many messages are unconfirmed. The broker gets the message after a reconnect at the latest. */
  publish(topic: string, message: Message, publishing: Publishing): void | Promise<void> {
    if (this.#closed) return publishing.settled?.(false)
    const isCatchingUp = this.#client?.connected && !this.#isReady
    if (isCatchingUp || this.#unconfirmed.isFull) {
      return this.#unconfirmed.change().then(() => this.publish(topic, message, publishing))
    }
    this.#publish(topic, message, publishing)
  }

  /** Publishes if there is room now. Otherwise returns false: ask again after `room`. */
  tryPublish(topic: string, message: Message, publishing: Publishing): boolean {
    const client = this.#client
    if (this.#closed || !this.#isReady || !client?.connected) return false
    if (client.stream.writableNeedDrain || this.#unconfirmed.isFull) return false
    this.#publish(topic, message, publishing)
    return true
  }

  /** Resolves when there may be room. */
  room(): Promise<void> {
    const stream = this.#client?.stream
    if (stream?.writableNeedDrain && stream.listenerCount('drain', this.#drained) === 0) {
      stream.once('drain', this.#drained)
    }
    return this.#unconfirmed.change()
  }

  /** Sends the remaining messages, for at most this long, and disconnects. The broker keeps the session. */
  async close(flushMs: number): Promise<void> {
    const client = this.#client
    if (!client || this.#closed) return
    const end = Promise.withResolvers<void>()
    const cut = setTimeout(end.resolve, flushMs)
    while (!this.#unconfirmed.isEmpty && client.connected) {
      const isOver = await Promise.race([this.#unconfirmed.change(), end.promise.then(() => true)])
      if (isOver) break
    }
    this.#closed = true
    this.#detail = 'The server is shutting down.'
    this.#cancelTimer?.()
    this.#unconfirmed.wake()
    const isClean = client.connected && this.#unconfirmed.isEmpty
    client.end(!isClean, {}, () => end.resolve())
    await end.promise
    clearTimeout(cut)
    client.stream.destroy()
  }

  #options(maxBytes: number): IClientOptions {
    const { clientId, version, username, password, tls, sessionExpirySeconds, maxInFlight } = this.#settings
    return {
      clientId,
      clean: false,
      manualConnect: true,
      protocolVersion: version === '5' ? 5 : 4,
      keepalive: KEEPALIVE_SECONDS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectPeriod: this.#retryMs,
      // Retried, because an operator may correct the credentials at the broker.
      reconnectOnConnackError: true,
      // Done at every connection.
      resubscribe: false,
      queueQoSZero: false,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(tls?.ca !== undefined && { ca: bytesOf(tls.ca) }),
      ...(tls?.cert !== undefined && { cert: bytesOf(tls.cert) }),
      ...(tls?.key !== undefined && { key: bytesOf(tls.key) }),
      ...(version === '5' && {
        properties: {
          sessionExpiryInterval: sessionExpirySeconds,
          receiveMaximum: maxInFlight,
          // Twice the limit: a message that is a little too large gets a response that says so.
          maximumPacketSize: Math.min(2 * maxBytes + PACKET_OVERHEAD_BYTES, MAX_PACKET_BYTES),
        },
      }),
    }
  }

  #subscribe(client: MqttClient, done: () => void): void {
    const { subscription, clock, log } = this.#settings
    // Retained messages are not for a server: it would run them again at every start.
    client.subscribe(subscription, { qos: 1, rh: 2 }, (err, granted) => {
      // This number means that the broker refused the subscription. MQTT 3.1.1 gives no reason.
      const isRefused = err !== null || granted?.some(({ qos }) => qos === 128)
      if (isRefused) {
        if (this.#closed || !client.connected) return
        this.#lost(`The broker refused the subscription to ${subscription}. Check its access rules.`)
        this.#cancelTimer = clock.schedule(LONGEST_RETRY_MS, () => this.#subscribe(client, done))
      } else {
        this.#subscribed = true
        this.#detail = undefined
        log.info({ subscription }, 'connected to the MQTT broker')
        // A broker that accepts connections and ends them at once, as for a client id used twice, is retried slowly.
        this.#cancelTimer = clock.schedule(STABLE_MS, () => {
          this.#retryMs = FIRST_RETRY_MS
          client.options.reconnectPeriod = FIRST_RETRY_MS
        })
        this.#unconfirmed.wake()
      }
      done()
    })
  }

  /** Logs the first of several failures. */
  #lost(why: string, err?: Error): void {
    if (this.#closed) return
    const isNews = this.#subscribed || this.#detail === undefined || this.#detail !== why
    this.#subscribed = false
    this.#detail = why
    const { log } = this.#settings
    if (isNews) log.warn({ ...(err && { err }), why }, 'no connection to the MQTT broker; trying again')
  }

  #connectionOn(stream: Writable): BrokerConnection {
    if (this.#connection?.stream !== stream) this.#connection = new BrokerConnection(stream)
    return this.#connection
  }

  #publish(topic: string, message: Message, { qos, correlationData, settled }: Publishing): void {
    const options: IClientPublishOptions = { qos }
    if (correlationData && this.#settings.version === '5') options.properties = { correlationData }
    const payload = typeof message === 'string' ? message : bytesOf(message)
    this.#connection?.gather()
    if (qos === 0) {
      this.#client?.publish(topic, payload, options)
      this.#lostMessages.sent(topic, payload.length, this.#settings.clock.monotonicMs())
      return
    }
    const bytes = payload.length
    this.#unconfirmed.enter(bytes)
    this.#client?.publish(topic, payload, options, (err) => {
      this.#unconfirmed.leave(bytes)
      if (err && !this.#closed) this.#refused(topic, bytes, err)
      settled?.(!(err && this.#closed), err ?? undefined)
    })
  }

  #refused(topic: string, bytes: number, err: Error): void {
    const { log, clock } = this.#settings
    if (!hasEndedConnections(err)) {
      log.warn({ err, topic, bytes }, 'the MQTT broker refused a message')
      return
    }
    log.warn(
      { topic, bytes },
      'the MQTT broker ended the connection each time it got a message; it is not sent. If it is too large, set mqtt.maxPacketBytes',
    )
    this.#retryMs = FIRST_RETRY_MS
    if (bytes >= LEAST_LIMIT_BYTES) this.#learned = { bytes, untilMs: clock.monotonicMs() + REMEMBER_MS }
  }

  #findLostMessage(): void {
    const { log, clock } = this.#settings
    const found = this.#lostMessages.ended(clock.monotonicMs())
    if (!found) return
    const { topic, bytes, certain } = found
    log.warn(
      { topic, bytes, lostMessages: this.#lostMessages.count },
      'the MQTT broker ended the connection after a message of QoS 0, which is probably lost. If it is too large, set mqtt.maxPacketBytes',
    )
    if (certain) this.#learned = { bytes, untilMs: clock.monotonicMs() + REMEMBER_MS }
  }
}

function bytesOf(bytes: string | Uint8Array): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes)
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
