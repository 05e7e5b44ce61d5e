/**
 * Acknowledges messages of QoS 1 in any order. MQTT.js acknowledges a message before it looks at the next one, so that
 * calls would be recorded one after the other. The packets of one tick leave in one write.
 */
import type { Writable } from 'node:stream'

/** Type PUBACK with two more bytes: the packet id. The same in MQTT 3.1.1 and, for success, in MQTT 5. */
const HEADER = [0x40, 2] as const
const PACKET_BYTES = 4

export class Acknowledgements {
  /** Packet ids belong to one connection. */
  readonly connection: Writable
  #ids: number[] = []

  constructor(connection: Writable) {
    this.connection = connection
  }

  add(packetId: number): void {
    if (this.#ids.length === 0) process.nextTick(() => this.#write())
    this.#ids.push(packetId)
  }

  #write(): void {
    const ids = this.#ids
    this.#ids = []
    if (!this.connection.writable) return
    const packets = Buffer.allocUnsafe(ids.length * PACKET_BYTES)
    for (const [index, id] of ids.entries()) {
      packets.set(HEADER, index * PACKET_BYTES)
      packets.writeUInt16BE(id, index * PACKET_BYTES + HEADER.length)
    }
    this.connection.write(packets)
  }
}
