/**
 * Finds a message because of which the broker ends the connection, such as one that is too large for it. After a
 * reconnect, MQTT.js first repeats the unconfirmed messages, each after the confirmation of the one before. If the
 * connection ends in the middle, the message under way is the reason, or the network is. Without this, the same message
 * would end every connection, and no other message would be sent.
 */
import type { IDisconnectPacket, MqttClient, Packet } from 'mqtt'

const PACKET_TOO_LARGE = 0x95
const QUOTA_EXCEEDED = 0x97
/** Busy, shutting down, no keepalive, taken over, closed by an operator, moved: reasons that are no message's. */
const OTHER_REASONS: readonly (number | undefined)[] = [0x89, 0x8b, 0x8d, 0x8e, 0x98, 0x9c, 0x9d]
/** A network that fails twice while the same message is under way is rare. */
const MAX_ENDS = 2
/** The error of MQTT.js for a message that was removed. */
const REMOVED = 'Message removed'

export class Redelivery {
  readonly #client: MqttClient
  /** The packet id of the message under way. */
  #current: number | undefined
  #suspect: number | undefined
  #ends = 0
  #reason: number | undefined

  constructor(client: MqttClient) {
    this.#client = client
    client.on('disconnect', ({ reasonCode }: IDisconnectPacket) => {
      this.#reason = reasonCode
    })
    client.on('close', () => {
      this.#judge()
      client.off('packetsend', this.#note).on('packetsend', this.#note)
    })
    client.on('connect', () => {
      client.off('packetsend', this.#note)
      this.#current = undefined
      this.#reason = undefined
      this.#suspect = undefined
    })
  }

  readonly #note = (packet: Packet): void => {
    if (packet.cmd === 'publish' && packet.qos > 0) this.#current = packet.messageId
  }

  #judge(): void {
    const id = this.#current
    const reason = this.#reason
    this.#current = undefined
    this.#reason = undefined
    if (id === undefined || OTHER_REASONS.includes(reason)) return
    this.#ends = id === this.#suspect ? this.#ends + 1 : 1
    this.#suspect = id
    if (this.#ends < MAX_ENDS && reason !== PACKET_TOO_LARGE) return
    this.#suspect = undefined
    // MQTT.js has cleaned up after the connection by then.
    setImmediate(() => this.#client.removeOutgoingMessage(id))
  }
}

/** True if the broker has ended connections because of the message. */
export function hasEndedConnections(refusal: Error): boolean {
  return refusal.message === REMOVED
}

/** True if the broker refused the message, as far as it says, because of its size. */
export function isTooLarge(refusal: Error): boolean {
  const { code } = refusal as Error & { code?: unknown }
  return hasEndedConnections(refusal) || code === PACKET_TOO_LARGE || code === QUOTA_EXCEEDED
}
