/** Finds the topics at the start, and creates missing ones if the settings allow it. */
import { Admin } from '@platformatic/kafka'
import { Fault } from '../../core/fault.ts'
import { describeError, isUnknownTopic } from './errors.ts'
import { clientOptions, type KafkaSettings } from './settings.ts'

/**
 * The client library unpacks a compressed batch without a limit. With this setting the broker unpacks it, and refuses it if
 * it is then larger than `max.message.bytes`.
 */
const BOUNDED = [{ name: 'compression.type', value: 'uncompressed' }]

export class Topics {
  readonly #settings: KafkaSettings
  /** Topics that exist, or are being looked up. */
  readonly #found = new Map<string, Promise<void>>()

  constructor(settings: KafkaSettings) {
    this.#settings = settings
  }

  /** Rejects with a fault if the topic is missing, and with the library's error if the brokers cannot be asked. */
  require(topic: string): Promise<void> {
    const before = this.#found.get(topic)
    if (before) return before
    const finding = this.#find(topic)
    this.#found.set(topic, finding)
    finding.catch(() => this.#found.delete(topic))
    return finding
  }

  async #find(topic: string): Promise<void> {
    const admin = new Admin({ ...clientOptions(this.#settings), retries: 1 })
    try {
      if (await exists(admin, topic)) return
      const { create } = this.#settings
      if (!create) throw missing(topic, 'Create it, or set kafka.createTopics.')
      await this.#create(admin, topic, create)
    } finally {
      await admin.close()
    }
  }

  async #create(admin: Admin, topic: string, { partitions, replicas }: { partitions: number; replicas: number }) {
    try {
      const configs = topic === this.#settings.topics.operations ? BOUNDED : []
      await admin.createTopics({ topics: [topic], partitions, replicas, configs })
      this.#settings.log.info({ topic, partitions, replicas }, 'created a Kafka topic')
    } catch (thrown) {
      // Another server may have created it at the same moment.
      if (await exists(admin, topic)) return
      throw missing(topic, `It could not be created: ${describeError(thrown)}`, thrown)
    }
  }
}

async function exists(admin: Admin, topic: string): Promise<boolean> {
  try {
    await admin.metadata({ topics: [topic], forceUpdate: true })
    return true
  } catch (thrown) {
    if (isUnknownTopic(thrown)) return false
    throw thrown
  }
}

function missing(topic: string, next: string, cause?: unknown): Fault {
  return new Fault('unavailable', `Kafka has no topic "${topic}". ${next}`, { code: 'TOPIC_MISSING', cause })
}
