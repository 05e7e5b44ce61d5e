/**
 * Publishes messages to one topic, in order. It sends the messages of one turn of the event loop together, and then those
 * that arrived while the last ones were under way. It keeps them while the brokers are away, up to a limit.
 */
import type { Log } from '../../core/ports/runtime.ts'
import { canRetry, describeError, isTooLarge } from './errors.ts'
import type { BatchProducer } from './producer.ts'
import { retryDelayMs } from './settings.ts'

export interface Outgoing {
  topic: string
  key?: Buffer | undefined
  value: Buffer
  headers: Map<Buffer, Buffer>
  /** Told once what became of the message. */
  settled?(fate: Fate): void
}

/** `too-large`: refused because of its size. `unknown`: the server closed before the brokers confirmed it. */
export type Fate = 'published' | 'too-large' | 'refused' | 'unknown'

export interface OutboxParts {
  topic: string
  producer: () => BatchProducer
  log: Log
  /** Aborts when nothing more is sent. */
  signal: AbortSignal
  /** Tells how many messages were published, or why one was not. */
  published(count: number): void
  lost(count: number): void
  /** Called when no message waits. */
  idle(): void
}

/** A broker's limit for the messages of one request and partition is 1 MB by default. */
const MAX_BATCH_BYTES = 512 * 1024
const MAX_BATCH = 1_000
/**
 * How long the messages after a batch wait for more. A request per few messages took a third of the time of a small call.
 * The first message after a pause does not wait.
 */
const LINGER_MS = 1
/** Above this, senders wait. */
const MAX_WAITING = 2_000
const MAX_WAITING_BYTES = 8 * 1024 * 1024

export class Outbox {
  readonly #parts: OutboxParts
  #waiting: Outgoing[] = []
  #waitingBytes = 0
  #sending: Promise<void> | undefined
  #room: PromiseWithResolvers<void> | undefined

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  /** Returns a promise while there is no room for another message. It never rejects. */
  add(message: Outgoing): void | Promise<void> {
    if (this.#parts.signal.aborted) return message.settled?.('unknown')
    this.#waiting.push(message)
    this.#waitingBytes += message.value.length
    this.#sending ??= this.#sendAll()
    if (this.#hasRoom()) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** Resolves when all messages are sent, or the signal has aborted. */
  async flushed(): Promise<void> {
    while (this.#sending) await this.#sending
  }

  async #sendAll(): Promise<void> {
    await new Promise(setImmediate)
    const { signal } = this.#parts
    while (this.#waiting.length > 0 && !signal.aborted) {
      await this.#send(this.#take())
      this.#wake()
      if (this.#waiting.length > 0 && this.#waiting.length < MAX_BATCH) await delay(LINGER_MS, signal)
    }
    if (signal.aborted) settle(this.#waiting.splice(0), 'unknown')
    this.#sending = undefined
    this.#wake()
    this.#parts.idle()
  }

  #take(): Outgoing[] {
    let bytes = 0
    let count = 0
    for (const { value } of this.#waiting) {
      if (count > 0 && (bytes + value.length > MAX_BATCH_BYTES || count >= MAX_BATCH)) break
      bytes += value.length
      count++
    }
    this.#waitingBytes -= bytes
    return this.#waiting.splice(0, count)
  }

  async #send(batch: Outgoing[]): Promise<void> {
    const { topic, producer, log, signal, published, lost } = this.#parts
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await producer().send({ messages: batch })
        published(batch.length)
        settle(batch, 'published')
        return
      } catch (thrown) {
        if (!canRetry(thrown)) {
          // One message may be the reason, for example because it is too large.
          if (batch.length > 1) return this.#sendEach(batch)
          lost(1)
          log.error({ topic, reason: describeError(thrown) }, 'Kafka refused a message; it is not published')
          settle(batch, isTooLarge(thrown) ? 'too-large' : 'refused')
          return
        }
        log.warn({ topic, reason: describeError(thrown), attempt }, 'could not publish to Kafka; trying again')
        await delay(retryDelayMs(attempt), signal)
      }
    }
    lost(batch.length)
    settle(batch, 'unknown')
  }

  async #sendEach(batch: readonly Outgoing[]): Promise<void> {
    for (const message of batch) await this.#send([message])
  }

  #hasRoom(): boolean {
    return this.#waiting.length < MAX_WAITING && this.#waitingBytes < MAX_WAITING_BYTES
  }

  #wake(): void {
    if (!this.#room || (!this.#hasRoom() && !this.#parts.signal.aborted)) return
    this.#room.resolve()
    this.#room = undefined
  }
}

function settle(messages: readonly Outgoing[], fate: Fate): void {
  for (const message of messages) message.settled?.(fate)
}

/** Resolves early when the signal aborts. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
