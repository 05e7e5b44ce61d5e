/** A message from the broker. */
import type { IPublishPacket } from 'mqtt'
import type { BrokerConnection } from './connection.ts'

export class Delivery {
  readonly topic: string
  readonly payload: Uint8Array
  /** False for QoS 0. */
  readonly assured: boolean
  /** The broker kept it for later subscribers. */
  readonly retained: boolean
  readonly responseTopic: string | undefined
  readonly correlationData: Buffer | undefined
  readonly #packetId: number | undefined
  readonly #connection: BrokerConnection

  constructor(packet: IPublishPacket, connection: BrokerConnection) {
    const { topic, payload, qos, retain, properties, messageId } = packet
    this.topic = topic
    this.payload = payload as Buffer
    this.assured = qos > 0
    this.retained = retain
    this.responseTopic = properties?.responseTopic
    this.correlationData = properties?.correlationData
    this.#packetId = messageId
    this.#connection = connection
  }

  /** Does nothing if the connection of the message is closed: the broker then sends the message again. */
  acknowledge(): void {
    if (this.assured && this.#packetId !== undefined) this.#connection.acknowledge(this.#packetId)
  }
}
