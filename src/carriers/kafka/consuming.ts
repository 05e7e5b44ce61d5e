/**
 * Reads the messages of the operations topic as a member of the group, and commits offsets of messages that are taken.
 * It connects again when the brokers were away, and stops reading while too many messages are in progress.
 */
import { Base, type KafkaRecord, type MessagesStream } from '@platformatic/kafka'
import { Fault } from '../../core/fault.ts'
import { BatchConsumer, type Fetched } from './consumer.ts'
import { describeError } from './errors.ts'
import { delay } from './outbox.ts'
import { PartitionProgress } from './progress.ts'
import { Received } from './received.ts'
import { clientOptions, type KafkaSettings, retryDelayMs } from './settings.ts'

type Reading = MessagesStream<Buffer, Buffer, Buffer, Buffer>

export interface ConsumingParts {
  settings: KafkaSettings
  /** `done` gets true when the offset of the message may be committed. It may be called at once. Never throws. */
  take(message: Received, done: (isTaken: boolean) => void): void
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
  #consumer: BatchConsumer | undefined
  #stream: Reading | undefined
  #serving: Promise<void> | undefined
  #committing: Promise<void> | undefined
  #cancelCommit: (() => void) | undefined
  #idle: PromiseWithResolvers<void> | undefined
  /** Batches that are read and not begun. Bounded: nothing is fetched while the server is full. */
  #backlog: Fetched[] = []
  /** How many records of the first batch are begun. */
  #begun = 0
  #isBeginning = false
  /** True from the maximum of messages in progress until half of them are done. */
  #isFull = false
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
    const options = {
      ...clientOptions(settings),
      groupId: group,
      autocommit: false,
      retries: true,
      maxWaitTime: FETCH_WAIT_MS,
      sessionTimeout: sessionTimeoutMs,
      // A broker that has just started may not answer a request. Joining the group can take a whole session timeout.
      requestTimeout: sessionTimeoutMs + 5_000,
      heartbeatInterval: Math.round(sessionTimeoutMs / 4),
    }
    const consumer = new BatchConsumer(options, (fetched) => {
      if (consumer !== this.#consumer) return
      this.#backlog.push(fetched)
      this.#beginAll()
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
    // The listener makes the stream fetch. It gets nothing, because the consumer has taken the records.
    stream.on('data', () =>
      ended.reject(new Fault('internal', 'The Kafka library delivered a message in another way.')),
    )
    if (signal.aborted || this.#isFull) stream.pause()
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

  /** Begins the messages that are read, while there is room. */
  #beginAll(): void {
    if (this.#isBeginning) return
    this.#isBeginning = true
    for (let first = this.#backlog[0]; first && !this.#isFull; first = this.#backlog[0]) {
      const record = first.records[this.#begun++]
      if (record) {
        this.#begin(first, record)
      } else {
        this.#backlog.shift()
        this.#begun = 0
      }
    }
    this.#isBeginning = false
  }

  #begin(fetched: Fetched, record: KafkaRecord): void {
    const { maxInFlight, topics } = this.#parts.settings
    // The partition may belong to another member since it was read.
    const progress = this.#progress.get(fetched.partition)
    if (!progress || this.#ending.signal.aborted) return
    const message = new Received(topics.operations, fetched, record)
    if (!progress.begin(message)) return
    const bytes = record.value?.length ?? 0
    this.inFlight++
    this.#bytesInFlight += bytes
    if (this.inFlight >= maxInFlight || this.#bytesInFlight >= MAX_BYTES_IN_FLIGHT) {
      this.#isFull = true
      this.#stream?.pause()
    }
    this.#parts.take(message, (isTaken) => {
      this.inFlight--
      this.#bytesInFlight -= bytes
      if (isTaken) {
        progress.finish(message)
        this.#commitSoon()
      }
      this.#goOn()
    })
  }

  #goOn(): void {
    if (this.inFlight === 0) this.#idle?.resolve()
    if (!this.#isFull || this.#ending.signal.aborted) return
    const { maxInFlight } = this.#parts.settings
    if (this.inFlight > maxInFlight / 2 || this.#bytesInFlight > MAX_BYTES_IN_FLIGHT / 2) return
    this.#isFull = false
    this.#beginAll()
    if (!this.#isFull) this.#stream?.resume()
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
    this.#backlog = []
    this.#begun = 0
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
