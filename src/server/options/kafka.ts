/** The option `kafka`: OpenCALL over Kafka. */
import { Fault } from '../../core/fault.ts'

export interface KafkaOptions {
  /** `host:port` of some brokers. */
  brokers: readonly string[]
  /** The consumer group. Servers with one store use the same name. Default: `callplane`. */
  group?: string
  /** How brokers know this client. Default: `callplane`. */
  clientId?: string
  topics?: KafkaTopicNames
  /**
   * Topics that a message may name in its header `reply-topic`. A `*` at the end stands for any rest. Default: none but
   * the topic of the replies.
   */
  replyTopics?: readonly string[]
  /**
   * `server`: all streams share the topic `topics.frames`, with the request id as key. `operation`: each operation has a
   * topic of its own below that name. Default: `server`.
   */
  framesTopicPer?: 'server' | 'operation'
  /** Creates missing topics. Default: false; then a missing topic is an error at the start. */
  createTopics?: boolean | { partitions?: number; replicas?: number }
  /** The login at the brokers. */
  sasl?: KafkaSasl
  /** Encrypts the connections. With an object: the certificates, in PEM. Default: false. */
  tls?: boolean | KafkaTlsOptions
  /** How many messages may be in progress before their calls are recorded or answered. Default: 1,000. */
  maxInFlight?: number
  /** The group gives the partitions of a server that is silent for this long to another one. Default: 10,000. */
  sessionTimeoutMs?: number
}

export interface KafkaTopicNames {
  /** Default: `callplane.ops`. */
  operations?: string
  /** Default: `callplane.replies`. */
  replies?: string
  /** Default: `callplane.frames`. */
  frames?: string
  /** Messages without a readable request id are copied here. Default: they are only logged. */
  deadLetters?: string
}

export interface KafkaSasl {
  /** Default: `SCRAM-SHA-512`. */
  mechanism?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  username: string
  password: string
}

export interface KafkaTlsOptions {
  /** Default: the certificate authorities that Node knows. */
  ca?: string | Uint8Array
  /** The certificate and the key of this client, if brokers ask for them. */
  cert?: string | Uint8Array
  key?: string | Uint8Array
  /** The name in the brokers' certificate, if it is not their host. */
  servername?: string
}

type Names<T> = Record<keyof T, true>

export const KAFKA: Names<KafkaOptions> = {
  brokers: true,
  group: true,
  clientId: true,
  topics: true,
  replyTopics: true,
  framesTopicPer: true,
  createTopics: true,
  sasl: true,
  tls: true,
  maxInFlight: true,
  sessionTimeoutMs: true,
}
export const KAFKA_TOPIC_NAMES: Names<KafkaTopicNames> = {
  operations: true,
  replies: true,
  frames: true,
  deadLetters: true,
}
export const KAFKA_SASL: Names<KafkaSasl> = { mechanism: true, username: true, password: true }
export const KAFKA_TLS: Names<KafkaTlsOptions> = { ca: true, cert: true, key: true, servername: true }

const TOPIC = /^[\w.-]{1,249}$/
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']

export function checkKafka({ brokers, topics = {}, replyTopics = [], ...rest }: KafkaOptions): void {
  const { sasl, framesTopicPer = 'server', maxInFlight = 1, sessionTimeoutMs = 1 } = rest
  if (!Array.isArray(brokers) || brokers.length === 0 || !brokers.every(isAddress)) {
    throw refused('kafka.brokers must be a list of brokers, such as ["127.0.0.1:9092"].')
  }
  for (const [name, topic] of Object.entries(topics)) {
    if (!TOPIC.test(topic)) throw refused(`kafka.topics.${name} must be 1 to 249 characters of A-Z a-z 0-9 . _ -`)
  }
  const used = Object.values(topics)
  if (new Set(used).size < used.length) throw refused('kafka.topics must all have different names.')
  if (!Array.isArray(replyTopics) || !replyTopics.every((topic) => /^[\w.-]{1,249}\*?$/.test(topic))) {
    throw refused('kafka.replyTopics must be a list of topics, such as ["billing.replies", "agents.*"].')
  }
  if (framesTopicPer !== 'server' && framesTopicPer !== 'operation') {
    throw refused('kafka.framesTopicPer must be "server" or "operation".')
  }
  if (sasl && !MECHANISMS.includes(sasl.mechanism ?? 'PLAIN')) {
    throw refused(`kafka.sasl.mechanism must be one of ${MECHANISMS.join(', ')}.`)
  }
  for (const [name, value] of Object.entries({ maxInFlight, sessionTimeoutMs })) {
    if (!Number.isSafeInteger(value) || value < 1) throw refused(`kafka.${name} must be a whole number of at least 1.`)
  }
}

export function hostOf(broker: string): string {
  return broker.slice(0, broker.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1')
}

function isAddress(broker: unknown): boolean {
  return typeof broker === 'string' && /^(?:[^\s:/@]+|\[[\da-f:]+\]):\d{1,5}$/i.test(broker)
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
