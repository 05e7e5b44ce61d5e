/** The options of OpenCALL over MQTT. */
import { Fault } from '../../core/fault.ts'

export interface MqttOptions {
  /** The broker: `mqtt://`, `mqtts://`, `ws://` or `wss://`. May contain the user name and the password. */
  url: string
  /** The broker's URL for readers of streams. Default: `url`, without its credentials. */
  publicUrl?: string
  username?: string
  password?: string
  /** PEM. `ca`: whom to trust, besides well-known authorities. `cert` and `key`: the server's own certificate. */
  tls?: { ca?: string | Uint8Array; cert?: string | Uint8Array; key?: string | Uint8Array }
  /** Must be the same after a restart and unique at the broker. Default: made from the host name and `data`. */
  clientId?: string
  /** The nodes of one group share the calls. `false`: every node gets every call. Default: `callplane`. */
  group?: string | false
  /** The version between the server and the broker. Callers use either. Default: `5`. */
  version?: '5' | '3.1.1'
  /**
   * Topic filters of the response topics that a caller may name with MQTT 5, such as `replies/#`, besides
   * `ops/+/response`.
   */
  responseTopics?: readonly string[]
  /** QoS of frames. Default: 0, and 1 for streams with `integrity`. */
  frameQos?: 0 | 1
  /** How many messages may be in progress. Default: 1,000. */
  maxInFlight?: number
  /** The largest packet that the broker accepts. Default: what the broker says, which MQTT 3.1.1 brokers do not. */
  maxPacketBytes?: number
  /** How long an MQTT 5 broker keeps messages for a node that is away. Default: one day. */
  sessionExpirySeconds?: number
}

/** A record, so that a new option does not compile until it is named here. */
export const MQTT_NAMES: Record<keyof MqttOptions, true> = {
  url: true,
  publicUrl: true,
  username: true,
  password: true,
  tls: true,
  clientId: true,
  group: true,
  version: true,
  responseTopics: true,
  frameQos: true,
  maxInFlight: true,
  maxPacketBytes: true,
  sessionExpirySeconds: true,
}

/** Enough for an error. */
const MIN_PACKET_BYTES = 4_096
/** MQTT itself allows no more. */
export const MAX_PACKET_BYTES = 268_435_455
const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:']

export function checkMqtt(options: MqttOptions): void {
  const { url, publicUrl = url, group = 'callplane', version = '5', frameQos = 0, responseTopics = [] } = options
  if (!isBroker(url)) throw refused('mqtt.url must be the URL of a broker, such as mqtt://127.0.0.1:1883.')
  if (!isBroker(publicUrl)) throw refused('mqtt.publicUrl must be the URL of a broker, such as mqtts://broker.example.')
  if (group !== false && !/^[^/+#\s]+$/.test(group))
    throw refused('mqtt.group must be a name without / + # and spaces, or false.')
  if (version !== '5' && version !== '3.1.1') throw refused('mqtt.version must be "5" or "3.1.1".')
  if (frameQos !== 0 && frameQos !== 1) throw refused('mqtt.frameQos must be 0 or 1.')
  const { maxInFlight = 1, sessionExpirySeconds = 0, maxPacketBytes = MAX_PACKET_BYTES } = options
  if (!isWhole(maxInFlight, 1, 65_535)) throw refused('mqtt.maxInFlight must be a whole number from 1 to 65535.')
  if (!isWhole(maxPacketBytes, MIN_PACKET_BYTES, MAX_PACKET_BYTES))
    throw refused(`mqtt.maxPacketBytes must be a whole number from ${MIN_PACKET_BYTES} to ${MAX_PACKET_BYTES}.`)
  if (!isWhole(sessionExpirySeconds, 0, 2 ** 32 - 1))
    throw refused('mqtt.sessionExpirySeconds must be a whole number from 0 to 4294967295.')
  const wrong = Array.isArray(responseTopics) ? responseTopics.find((filter) => !isFilter(filter)) : 'no list'
  if (wrong !== undefined)
    throw refused(`mqtt.responseTopics must be a list of topic filters such as replies/#; "${wrong}" is not one.`)
}

function isBroker(url: unknown): boolean {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed !== null && SCHEMES.includes(parsed.protocol) && parsed.hostname !== ''
}

/** Wildcards take a whole level, and `#` the last one. */
function isFilter(filter: unknown): boolean {
  return typeof filter === 'string' && /^(?:(?:\+|[^+#/]*)\/)*(?:#|\+|[^+#/]+)$/.test(filter)
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
