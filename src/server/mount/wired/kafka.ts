/** OpenCALL over Kafka. The client library is loaded if the option `kafka` is set. */
import type { Kafka, KafkaLogin, KafkaSettings, KafkaTls } from '../../../carriers/kafka/index.ts'
import { Fault } from '../../../core/fault.ts'
import { frameTopicOf, KAFKA_HEADERS, KAFKA_TOPICS, refusalInPlaceOf } from '../../../protocols/opencall/index.ts'
import type { Base } from '../../build/base.ts'
import { hostOf, type KafkaOptions } from '../../options/kafka.ts'
import { isLoopback } from '../../options/loopback.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { CarrierReading, WiredCarrier } from './wired.ts'

export async function prepareKafka<App>(options: ServerOptions<App>, base: Base): Promise<WiredCarrier | undefined> {
  const { kafka: chosen, auth } = options
  if (!chosen) return undefined
  requireKnownCallers(chosen, auth !== undefined)
  if (chosen.sasl) base.redactor.add(chosen.sasl.password)
  warnOfPlainText(chosen, base)
  const { createKafka, NAME } = await loadCarrier()
  const kafka = createKafka(settingsFrom(chosen, base))
  return {
    name: NAME,
    transport: kafka.transport,
    sendLate: kafka.sendLate,
    open: ({ session, origin, sizes }) =>
      kafka.serve({
        open: session({ redelivers: true, requiresAuth: true }),
        origin,
        maxBytes: sizes.envelopeBytes,
      }),
    state: () => kafka.state(),
    readings: readingsOf(kafka),
  }
}

function settingsFrom(chosen: KafkaOptions, { log, clock }: Base): KafkaSettings {
  const { brokers, group = 'callplane', clientId = 'callplane', replyTopics = [], framesTopicPer = 'server' } = chosen
  const topics = { ...KAFKA_TOPICS, ...chosen.topics }
  const framesShared = framesTopicPer === 'server'
  const create = creationOf(chosen)
  const login = loginOf(chosen)
  const tls = tlsOf(chosen)
  return {
    brokers,
    group,
    clientId,
    topics,
    replyTopics,
    headers: KAFKA_HEADERS,
    inPlaceOf: refusalInPlaceOf,
    framesShared,
    frameTopic: (operation) => (framesShared ? topics.frames : frameTopicOf(topics.frames, operation)),
    maxInFlight: chosen.maxInFlight ?? 1_000,
    sessionTimeoutMs: chosen.sessionTimeoutMs ?? 10_000,
    log: log.child({ carrier: 'kafka' }),
    clock,
    ...(create && { create }),
    ...(login && { login }),
    ...(tls && { tls }),
  }
}

function creationOf({ createTopics = false }: KafkaOptions): { partitions: number; replicas: number } | undefined {
  if (createTopics === false) return undefined
  // -1: as the broker is configured.
  const defaults = { partitions: -1, replicas: -1 }
  return createTopics === true ? defaults : { ...defaults, ...createTopics }
}

function loginOf({ sasl }: KafkaOptions): KafkaLogin | undefined {
  return sasl && { mechanism: 'SCRAM-SHA-512', ...sasl }
}

function tlsOf({ tls = false }: KafkaOptions): KafkaTls | undefined {
  if (tls === false) return undefined
  return tls === true ? {} : tls
}

/** Without authentication every sender to the topic could do everything. */
function requireKnownCallers({ brokers }: KafkaOptions, isAuthenticated: boolean): void {
  const remote = brokers.map(hostOf).find((host) => !isLoopback(host))
  if (isAuthenticated || remote === undefined) return
  const message = `Without authentication the server uses Kafka on loopback only, not on ${remote}. Configure auth first.`
  throw new Fault('malformed', message, { code: 'UNPROTECTED' })
}

function warnOfPlainText({ brokers, tls }: KafkaOptions, { log }: Base): void {
  if (tls || brokers.every((broker) => isLoopback(hostOf(broker)))) return
  log.warn({}, 'envelopes with credentials cross the network in plain text: set kafka.tls')
}

function readingsOf({ counts }: Kafka): readonly CarrierReading[] {
  return [
    { type: 'gauge', name: 'in_flight', help: 'Messages not acknowledged yet.', read: () => counts().inFlight },
    { type: 'counter', name: 'received_total', help: 'Messages received.', read: () => counts().received },
    { type: 'counter', name: 'published_total', help: 'Messages published.', read: () => counts().published },
    { type: 'counter', name: 'lost_total', help: 'Messages that brokers refused.', read: () => counts().lost },
    { type: 'counter', name: 'put_aside_total', help: 'Messages put aside.', read: () => counts().putAside },
    { type: 'counter', name: 'frames_total', help: 'Frames of streams.', read: () => counts().frames },
  ]
}

async function loadCarrier(): Promise<typeof import('../../../carriers/kafka/index.ts')> {
  try {
    return await import('../../../carriers/kafka/index.ts')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    const message = 'The option "kafka" needs a package. Install it: npm install @platformatic/kafka'
    throw new Fault('malformed', message, { code: 'PACKAGE_MISSING', cause })
  }
}
