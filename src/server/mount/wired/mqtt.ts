/** OpenCALL over MQTT: the topics of the protocol, on a carrier that is a client of the user's broker. */
import { hash } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Fault } from '../../../core/fault.ts'
import {
  frameTopics,
  operationIn,
  REQUEST_TOPICS,
  RESPONSE_TOPICS,
  refusalInPlaceOf,
  responseTopic,
} from '../../../protocols/opencall/index.ts'
import { MAX_IN_FLIGHT } from '../../../wire/messages/link.ts'
import type { Base } from '../../build/base.ts'
import { requireProtection } from '../../options/loopback.ts'
import type { MqttOptions } from '../../options/mqtt.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { WiredCarrier } from './wired.ts'

const NAME = 'mqtt'
const DAY_SECONDS = 86_400

export async function prepareMqtt<App>(
  { mqtt: options, auth, data = '.callplane' }: ServerOptions<App>,
  { clock, log, redactor, worker }: Base,
): Promise<WiredCarrier | undefined> {
  if (!options) return undefined
  const { url, hostname: host, username, password } = addressOf(options)
  // Everybody who reaches the broker could call.
  requireProtection(host, auth)
  if (password !== undefined) redactor.add(password)
  const { Broker, MqttFrames, createMqttCarrier, publishLate } = await loadCarrier()
  const { group = 'callplane', version = '5', frameQos, tls, maxInFlight = MAX_IN_FLIGHT } = options
  const broker = new Broker({
    url,
    clientId: options.clientId ?? clientIdOf(data, worker),
    version,
    sessionExpirySeconds: options.sessionExpirySeconds ?? DAY_SECONDS,
    maxInFlight,
    subscription: group === false ? REQUEST_TOPICS : `$share/${group}/${REQUEST_TOPICS}`,
    clock,
    log,
    ...(options.maxPacketBytes !== undefined && { maxPacketBytes: options.maxPacketBytes }),
    ...(tls && { tls }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  })
  const frames = new MqttFrames(broker, {
    url: options.publicUrl === undefined ? url : addressOf({ url: options.publicUrl }).url,
    topics: frameTopics,
    ...(frameQos !== undefined && { qos: frameQos }),
  })
  const topics = {
    requests: REQUEST_TOPICS,
    allowed: [RESPONSE_TOPICS, ...(options.responseTopics ?? [])],
    about: responseTopic,
    subject: operationIn,
  }
  return {
    name: NAME,
    transport: frames,
    sendLate: (place, message, about, signal) => publishLate(broker, topics, { place, message, about }, signal),
    state: () => broker.state,
    readings: [
      {
        type: 'counter',
        name: 'lost_messages_total',
        help: 'Messages of QoS 0 after which the broker ended the connection.',
        read: () => broker.lostMessages,
      },
    ],
    open: ({ session, origin, sizes }) =>
      createMqttCarrier({
        name: NAME,
        broker,
        frames,
        open: session({ redelivers: true, requiresAuth: true }),
        origin,
        topics,
        inPlaceOf: refusalInPlaceOf,
        limits: { maxBytes: sizes.envelopeBytes, maxInFlight },
        clock,
        log,
      }),
  }
}

/** The URL without credentials, and the credentials. */
function addressOf(options: Pick<MqttOptions, 'url' | 'username' | 'password'>) {
  const parsed = new URL(options.url)
  const username = options.username ?? (decodeURIComponent(parsed.username) || undefined)
  const password = options.password ?? (decodeURIComponent(parsed.password) || undefined)
  parsed.username = ''
  parsed.password = ''
  return { url: parsed.href.replace(/\/$/, ''), hostname: parsed.hostname.replace(/^\[|\]$/g, ''), username, password }
}

/**
 * The broker keeps messages for a client id, so a node must come back with its own. At most 23 letters and digits, which
 * every broker accepts.
 */
function clientIdOf(data: string, worker: number | undefined): string {
  return `callplane${hash('sha256', JSON.stringify([hostname(), resolve(data), worker ?? 0]), 'hex').slice(0, 14)}`
}

async function loadCarrier() {
  try {
    return await import('../../../carriers/mqtt/index.ts')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Fault('malformed', 'OpenCALL over MQTT needs the package mqtt. Run npm install mqtt.', {
      code: 'PACKAGE_MISSING',
      cause,
    })
  }
}
