/** The producer, and an outbox for each topic in use. A topic that does not work does not delay the others. */
import type { Log } from '../../core/ports/runtime.ts'
import { describeError } from './errors.ts'
import { aborted, Outbox, type Outgoing } from './outbox.ts'
import { partitionOf } from './partition.ts'
import { BatchProducer } from './producer.ts'
import { clientOptions, type KafkaSettings } from './settings.ts'

export class Publishing {
  readonly #log: Log
  readonly #producer: BatchProducer
  readonly #outboxes = new Map<string, Outbox>()
  readonly #ending = new AbortController()
  published = 0
  lost = 0

  constructor(settings: KafkaSettings) {
    this.#log = settings.log
    this.#producer = new BatchProducer({
      ...clientOptions(settings),
      // With it, the broker drops the duplicates of retries.
      idempotent: true,
      // After these retries, the outbox tries again.
      retries: 5,
      partitioner: (_message, key) => partitionOf(key),
    })
  }

  /** Returns a promise while there is no room for another message to its topic. */
  add(message: Outgoing): void | Promise<void> {
    return this.#outboxOf(message.topic).add(message)
  }

  #outboxOf(topic: string): Outbox {
    const open = this.#outboxes.get(topic)
    if (open) return open
    const outbox = new Outbox({
      topic,
      producer: () => this.#producer,
      log: this.#log,
      signal: this.#ending.signal,
      published: (count) => {
        this.published += count
      },
      lost: (count) => {
        this.lost += count
      },
      idle: () => this.#outboxes.delete(topic),
    })
    this.#outboxes.set(topic, outbox)
    return outbox
  }

  /** Sends the waiting messages, until `cut` aborts. */
  async close(cut: AbortSignal): Promise<void> {
    const flushing = Promise.all([...this.#outboxes.values()].map((outbox) => outbox.flushed()))
    await Promise.race([flushing, aborted(cut)])
    this.#ending.abort()
    // Also ends a message that the library is still trying to send.
    await this.#producer.close(true).catch((thrown: unknown) => {
      this.#log.debug({ reason: describeError(thrown) }, 'could not close the Kafka producer')
    })
    await flushing
  }
}
