/**
 * Reads the messages of the operations topic as a member of the group, and commits offsets of messages that are taken.
 * It connects again when the brokers were away, and stops reading while too many messages are in progress.
 */
import { Base, Consumer, type Message, type MessagesStream } from '@platformatic/kafka'
import { describeError } from './errors.ts'
import { delay } from './outbox.ts'
import { PartitionProgress } from './progress.ts'
import { clientOptions, type KafkaSettings, retryDelayMs } from './settings.ts'

export type Received = Message<Buffer, Buffer, Buffer, Buffer>
type Reading = MessagesStream<Buffer, Buffer, Buffer, Buffer>

export interface ConsumingParts {
  settings: KafkaSettings
  /** True when the offset of the message may be committed. Never throws or rejects. */
  take(message: Received): boolean | Promise<boolean>
}

/** With this many bytes in progress, no more messages are read. */
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024
const COMMIT_EVERY_MS = 100
/** How long a fetch waits for messages. It is also the longest time in which a stale one can still arrive. */
const FETCH_WAIT_MS = 1_000
const STALE_FETCH_MS = 60_000
const LEAVE_MS = 2_000

export class Consuming {
  readonly #parts: ConsumingParts
  readonly #ending = new AbortController()
  readonly #progress = new Map<number, PartitionProgress>()
  /** When a partition was lost to another member, by the monotonic clock. */
  readonly #lost = new Map<number, number>()
  #consumer: Consumer<Buffer, Buffer, Buffer, Buffer> | undefined
  #stream: Reading | undefined
  #serving: Promise<void> | undefined
  #committing: Promise<void> | undefined
  #cancelCommit: (() => void) | undefined
  #idle: PromiseWithResolvers<void> | undefined
  #bytesInFlight = 0
  inFlight = 0
  /** Why there is no connection. `undefined`: there is one. */
  trouble: string | undefined = 'The server has not joined the consumer group yet.'

  constructor(parts: ConsumingParts) {
    this.#parts = parts
  }

  start(): void {
    this.#serving = this.#serve()
  }

  /** Takes no more messages. Resolves when the messages in progress are done. */
  async stop(): Promise<void> {
    this.#ending.abort()
    this.#stream?.pause()
    if (this.inFlight === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  /** Commits, and leaves the group. */
  async close(): Promise<void> {
    this.#ending.abort()
    this.#cancelCommit?.()
    const consumer = this.#consumer
    if (consumer) await within(LEAVE_MS, this.#committing?.then(() => this.#commit()) ?? this.#commit())
    await this.#leave()
    await this.#serving
  }

  async #serve(): Promise<void> {
    const { log } = this.#parts.settings
    const { signal } = this.#ending
    for (let attempt = 1; !signal.aborted; attempt++) {
      const startedMs = this.#parts.settings.clock.monotonicMs()
      try {
        await this.#consume()
      } catch (thrown) {
        this.trouble = describeError(thrown)
        if (!signal.aborted)
          log.warn({ reason: this.trouble, attempt }, 'lost the connection to Kafka; connecting again')
      }
      if (signal.aborted) return
      await this.#leave()
      if (this.#parts.settings.clock.monotonicMs() - startedMs > STALE_FETCH_MS) attempt = 1
      await delay(retryDelayMs(attempt), signal)
    }
  }

  /** Resolves or rejects when the connection has ended. */
  async #consume(): Promise<void> {
    const { settings } = this.#parts
    const { topics, group, sessionTimeoutMs, log } = settings
    const consumer = new Consumer<Buffer, Buffer, Buffer, Buffer>({
      ...clientOptions(settings),
      groupId: group,
      autocommit: false,
      retries: true,
      maxWaitTime: FETCH_WAIT_MS,
      sessionTimeout: sessionTimeoutMs,
      // A broker that has just started may not answer a request. Joining the group can take a whole session timeout.
      requestTimeout: sessionTimeoutMs + 5_000,
      heartbeatInterval: Math.round(sessionTimeoutMs / 4),
    })
    this.#consumer = consumer
    const ended = Promise.withResolvers<void>()
    consumer.on('error', ended.reject)
    consumer.on('consumer:group:join', ({ assignments = [] }) => {
      this.trouble = undefined
      const partitions = assignments.find(({ topic }) => topic === topics.operations)?.partitions ?? []
      log.info({ partitions }, 'joined the Kafka consumer group')
      if (this.#assign(partitions)) ended.resolve()
    })
    consumer.on('client:performWithRetry:retry', (operation, attempt) => {
      log.debug({ operation, attempt }, 'asking Kafka again')
      if (attempt > 0) this.trouble = `Kafka does not answer (${operation}); the server keeps trying.`
    })
    this.#progress.clear()
    this.#lost.clear()
    const { signal } = this.#ending
    signal.addEventListener('abort', () => ended.resolve(), { once: true })
    const opened = Promise.withResolvers<Reading | undefined>()
    const committed = { mode: 'committed', fallbackMode: 'earliest' } as const
    consumer.consume({ topics: [topics.operations], ...committed }, (error, stream) => {
      if (!stream) return ended.reject(error)
      // Set before anything else: the stream of a closed consumer fails at once.
      stream.on('error', ended.reject)
      opened.resolve(stream)
    })
    const stream = await Promise.race([opened.promise, ended.promise.then(() => undefined)])
    if (!stream) return
    this.#stream = stream
    stream.on('close', () => ended.resolve())
    stream.on('fetch', () => {
      this.trouble = undefined
    })
    stream.on('data', (message: Received) => this.#begin(message, stream))
    if (signal.aborted) stream.pause()
    await ended.promise
  }

  /**
   * Forgets the partitions that other members have now. Returns true if the consumer must be opened again: a fetch from
   * before may still arrive for a partition that this server has lost and got back, and would skip messages.
   */
  #assign(partitions: readonly number[]): boolean {
    const nowMs = this.#parts.settings.clock.monotonicMs()
    for (const partition of this.#progress.keys()) {
      if (partitions.includes(partition)) continue
      this.#progress.delete(partition)
      this.#lost.set(partition, nowMs)
    }
    let isStale = false
    for (const partition of partitions) {
      if (this.#progress.has(partition)) continue
      this.#progress.set(partition, new PartitionProgress())
      const lostMs = this.#lost.get(partition)
      if (lostMs !== undefined && nowMs - lostMs < STALE_FETCH_MS) isStale = true
    }
    return isStale
  }

  #begin(message: Received, stream: Reading): void {
    const { maxInFlight } = this.#parts.settings
    // The partition may belong to another member since it was read.
    const progress = this.#progress.get(message.partition)
    if (!progress || this.#ending.signal.aborted || stream !== this.#stream) return
    const entry = progress.begin(message.offset, message.leaderEpoch)
    if (!entry) return
    const bytes = message.value?.length ?? 0
    this.inFlight++
    this.#bytesInFlight += bytes
    if (this.inFlight >= maxInFlight || this.#bytesInFlight >= MAX_BYTES_IN_FLIGHT) stream.pause()
    const finish = (isTaken: boolean) => {
      this.inFlight--
      this.#bytesInFlight -= bytes
      if (isTaken) {
        progress.finish(entry)
        this.#commitSoon()
      }
      this.#goOn()
    }
    const taking = this.#parts.take(message)
    if (typeof taking === 'boolean') finish(taking)
    else void taking.then(finish)
  }

  #goOn(): void {
    if (this.inFlight === 0) this.#idle?.resolve()
    const { maxInFlight } = this.#parts.settings
    const stream = this.#stream
    if (!stream?.isPaused() || this.#ending.signal.aborted) return
    if (this.inFlight <= maxInFlight / 2 && this.#bytesInFlight <= MAX_BYTES_IN_FLIGHT / 2) stream.resume()
  }

  #commitSoon(): void {
    this.#cancelCommit ??= this.#parts.settings.clock.schedule(COMMIT_EVERY_MS, () => {
      this.#cancelCommit = undefined
      if (this.#committing) return this.#commitSoon()
      this.#committing = this.#commit().finally(() => {
        this.#committing = undefined
      })
    })
  }

  /** A message whose offset is not committed is delivered again. Its call is then found by its id. */
  async #commit(): Promise<void> {
    const { topics, log } = this.#parts.settings
    const offsets = []
    for (const [partition, progress] of this.#progress) {
      const next = progress.takeCommittable()
      if (next) offsets.push({ topic: topics.operations, partition, ...next })
    }
    if (offsets.length === 0) return
    try {
      await this.#consumer?.commit({ offsets })
    } catch (thrown) {
      log.warn({ reason: describeError(thrown) }, 'could not commit offsets to Kafka; the messages may arrive again')
    }
  }

  async #leave(): Promise<void> {
    const consumer = this.#consumer
    this.#consumer = undefined
    this.#stream = undefined
    if (!consumer) return
    const { log } = this.#parts.settings
    const failed = (thrown: unknown) => log.debug({ reason: describeError(thrown) }, 'could not leave the Kafka group')
    if (await within(LEAVE_MS, consumer.close(true).catch(failed))) return
    // Without an answer the library would retry forever. The method of its parent class only closes the connections.
    await within(LEAVE_MS, Base.prototype.close.call(consumer).catch(failed))
  }
}

/** Resolves to true when the promise does, or to false after this time. */
async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const isInTime = await Promise.race([promise.then(() => true), delay(ms, over.signal).then(() => false)])
  over.abort()
  return isInTime
}
