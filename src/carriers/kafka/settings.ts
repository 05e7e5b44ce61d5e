/** The settings of the carrier, and their form for the client library. */
import { isIP } from 'node:net'
import type { BaseOptions } from '@platformatic/kafka'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { InPlaceOf } from './reply-address.ts'

export interface KafkaLogin {
  mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  username: string
  password: string
}

/** PEM. */
export interface KafkaTls {
  ca?: string | Uint8Array
  cert?: string | Uint8Array
  key?: string | Uint8Array
  /** The name in the brokers' certificate, if it is not their host. */
  servername?: string
}

export interface KafkaSettings {
  /** `host:port` of some brokers. The client finds the others. */
  brokers: readonly string[]
  clientId: string
  /** The consumer group. Servers with one store share it. */
  group: string
  login?: KafkaLogin
  tls?: KafkaTls
  topics: { operations: string; replies: string; frames: string; deadLetters?: string }
  /** Topics that a message may name for its replies. A `*` at the end matches any rest of the name. */
  replyTopics: readonly string[]
  headers: { replyTopic: string; correlation: string; stream: string; refusal: string }
  /** The message in place of one that the brokers refuse, for this reason. */
  inPlaceOf: InPlaceOf
  /** False if each operation has a topic of its own for its frames. */
  framesShared: boolean
  /** The topic of the frames of an operation. */
  frameTopic(operation: string): string
  /** Creates missing topics. */
  create?: { partitions: number; replicas: number }
  /** How many messages may wait for their acknowledgement. */
  maxInFlight: number
  /** The group gives the partitions of a server that is silent for this long to another one. */
  sessionTimeoutMs: number
  log: Log
  clock: Clock
}

/** Waits longer from try to try, up to five seconds, and not in step with other servers. */
export function retryDelayMs(attempt: number): number {
  return Math.min(5_000, 100 * 2 ** Math.min(attempt, 6)) * (0.75 + Math.random() / 2)
}

export function clientOptions({ brokers, clientId, login, tls }: KafkaSettings): BaseOptions {
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: 5_000,
    retryDelay: (_client, _operation, attempt) => retryDelayMs(attempt),
    ...(login && { sasl: { ...login } }),
    ...(tls && { tls: tlsOptions(tls), tlsServerName: tls.servername ?? brokers.some(hasName) }),
  }
}

/** The name goes to the broker in plain text before the handshake. An address is not allowed there. */
function hasName(broker: string): boolean {
  return isIP(broker.replace(/:\d+$/, '').replace(/[[\]]/g, '')) === 0
}

function tlsOptions({ ca, cert, key }: KafkaTls) {
  const pem = (text: string | Uint8Array) => (typeof text === 'string' ? text : Buffer.from(text))
  return { ...(ca && { ca: pem(ca) }), ...(cert && { cert: pem(cert) }), ...(key && { key: pem(key) }) }
}
