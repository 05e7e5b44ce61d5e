/**
 * Frames of streams as messages on a topic. The broker does not say who reads them, so a stream ends by itself, by its
 * expiry, or when the caller unsubscribes. Back-pressure comes from the connection to the broker.
 */
import { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel, NewStream, StreamPlace, StreamTransport } from '../../core/ports/frames.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker, Publishing } from './broker.ts'
import { refusalOf } from './late.ts'
import { isTooLarge } from './redelivery.ts'

export interface FrameSettings {
  /** The broker's URL for readers, without credentials. */
  url: string
  /** Default: 0, and 1 for frames with an integrity header. */
  qos?: 0 | 1
  /** The topics for a stream, in order of preference. The last is for no other stream. */
  topics(stream: NewStream): readonly [...string[], string]
}

/** A handler that never waits would otherwise stop the process. */
const FRAMES_PER_TURN = 64
const UNCONFIRMED: Publishing = { qos: 0 }

export class MqttFrames implements StreamTransport {
  readonly name = 'mqtt'
  readonly #broker: Broker
  readonly #settings: FrameSettings
  readonly #open = new Set<FrameTopic>()

  constructor(broker: Broker, settings: FrameSettings) {
    this.#broker = broker
    this.#settings = settings
  }

  async place(stream: NewStream): Promise<StreamPlace> {
    const { connected, detail = '' } = this.#broker.state
    if (!connected) throw new Fault('unavailable', `No connection to the MQTT broker. ${detail} Try again in a moment.`)
    const topic = await this.#claim(stream)
    const qos = this.#settings.qos ?? (stream.sealed ? 1 : 0)
    return {
      location: `${this.#settings.url}/${topic.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':')}`,
      details: { topic, qos },
      open: () => {
        const channel: FrameTopic = new FrameTopic(this.#broker, topic, qos, () => this.#open.delete(channel))
        this.#open.add(channel)
        return channel
      },
    }
  }

  /** Resumes senders that wait for the broker. */
  close(): void {
    for (const channel of this.#open) channel.leave()
    this.#open.clear()
  }

  async #claim(stream: NewStream): Promise<string> {
    const topics = this.#settings.topics(stream)
    for (const topic of topics) if (await stream.claim(topic)) return topic
    return topics.at(-1) as string
  }
}

class FrameTopic implements FrameChannel {
  readonly #broker: Broker
  readonly #topic: string
  readonly #topicBytes: number
  readonly #qos: 0 | 1
  readonly #release: () => void
  readonly #leaving = new AbortController()
  /** Frames that were sent although there was no room. */
  readonly #waiting: FrameBytes[] = []
  /** Frames of QoS 1 that the broker has not confirmed. */
  readonly #onTheirWay = new OnTheirWay()
  #sentThisTurn = 0
  #draining: Promise<void> | undefined

  constructor(broker: Broker, topic: string, qos: 0 | 1, release: () => void) {
    this.#broker = broker
    this.#topic = topic
    this.#topicBytes = Buffer.byteLength(topic)
    this.#qos = qos
    this.#release = release
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    const maxBytes = this.#broker.maxPayloadBytes(this.#topicBytes)
    if (isLargerThan(frame, maxBytes)) return this.#fail(tooLarge(frame.length, maxBytes))
    if (!this.#draining && this.#publish(frame)) {
      return this.#sentThisTurn < FRAMES_PER_TURN ? undefined : this.#drain()
    }
    this.#waiting.push(frame)
    return this.#drain()
  }

  flushed(): void | Promise<void> {
    if (this.signal.aborted) return
    if (this.#draining) return this.#draining.then(() => this.flushed())
    const flushing = this.#onTheirWay.flushed()
    if (flushing instanceof Promise) return Promise.race([flushing.then(() => undefined), this.#left()])
  }

  /** The caller learns of the end by the last state of its call. */
  async end(): Promise<void> {
    await this.#draining
    this.#release()
  }

  leave(): void {
    this.#leaving.abort()
  }

  /** No other reader could get the frame from this broker. */
  #fail(why: Fault): void {
    if (this.signal.aborted) return
    this.#leaving.abort(why)
    this.#release()
  }

  #left(): Promise<void> {
    return new Promise((resolve) => this.signal.addEventListener('abort', () => resolve(), { once: true }))
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#sendWaiting()
    return this.#draining
  }

  async #sendWaiting(): Promise<void> {
    const left = this.#left()
    while (!this.signal.aborted && (this.#waiting.length > 0 || this.#sentThisTurn >= FRAMES_PER_TURN)) {
      if (this.#sentThisTurn >= FRAMES_PER_TURN) await new Promise(setImmediate)
      else if (this.#publish(this.#waiting[0] as FrameBytes)) this.#waiting.shift()
      else await Promise.race([this.#broker.room(), left])
    }
    this.#draining = undefined
  }

  #publish(frame: FrameBytes): boolean {
    if (!this.#broker.tryPublish(this.#topic, frame, this.#publishing(frame))) return false
    if (this.#qos === 1) this.#onTheirWay.sent()
    if (this.#sentThisTurn++ === 0) setImmediate(() => (this.#sentThisTurn = 0))
    return true
  }

  #publishing(frame: FrameBytes): Publishing {
    if (this.#qos === 0) return UNCONFIRMED
    const settled = (isKnown: boolean, refusal?: Error) => {
      if (isKnown && refusal) this.#fail(isTooLarge(refusal) ? tooLarge(frame.length) : refusalOf(refusal))
      this.#onTheirWay.settled(isKnown)
    }
    return { qos: 1, settled }
  }
}

function tooLarge(bytes: number, maxBytes?: number): Fault {
  const limit =
    maxBytes === undefined ? 'which is more than the MQTT broker takes' : `and the MQTT broker takes ${maxBytes}`
  const message = `A frame has ${bytes} bytes, ${limit}. Read the stream over another transport.`
  return new Fault('unavailable', message, { code: 'FRAME_TOO_LARGE', retryable: false })
}
