/** A connection between an MQTT client and its broker that shows which messages the client acknowledges. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Tap extends AsyncDisposable {
  readonly port: number
}

const PUBLISH = 3
const PUBACK = 4

/** `acknowledged` gets the whole packet that delivered the message. */
export async function openTap(brokerPort: number, acknowledged: (packet: Buffer) => void): Promise<Tap> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const broker = connect(brokerPort, '127.0.0.1')
    const delivered = new Map<number, Buffer>()
    for (const socket of [client, broker]) {
      sockets.add(socket)
      socket.setNoDelay(true).on('error', () => undefined)
    }
    client.on('close', () => broker.destroy())
    broker.on('close', () => client.destroy())
    const fromBroker = packetReader((packet) => {
      if (packet.readUInt8(0) >> 4 === PUBLISH && (packet.readUInt8(0) & 0b110) > 0)
        delivered.set(packetId(packet), packet)
    })
    const fromClient = packetReader((packet) => {
      if (packet.readUInt8(0) >> 4 !== PUBACK) return
      const message = delivered.get(packet.readUInt16BE(2))
      if (message) acknowledged(message)
    })
    broker.on('data', (data) => {
      fromBroker(data)
      client.write(data)
    })
    client.on('data', (data) => {
      broker.write(data)
      fromClient(data)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** Calls back for every whole packet. */
export function packetReader(take: (packet: Buffer) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (data) => {
    rest = Buffer.concat([rest, data])
    for (let size = packetSize(rest); size !== undefined && rest.length >= size; size = packetSize(rest)) {
      take(Buffer.from(rest.subarray(0, size)))
      rest = rest.subarray(size)
    }
  }
}

/** The fixed header: the type, and a length in one to four bytes of seven bits each. */
function headerSize(packet: Buffer): number | undefined {
  for (let at = 1; at <= 4 && at < packet.length; at++) if (packet.readUInt8(at) < 0x80) return at + 1
  return undefined
}

function packetSize(packet: Buffer): number | undefined {
  const header = headerSize(packet)
  if (header === undefined) return undefined
  let length = 0
  for (let at = header - 1; at >= 1; at--) length = length * 0x80 + (packet.readUInt8(at) & 0x7f)
  return header + length
}

/** After the topic. */
function packetId(packet: Buffer): number {
  const header = headerSize(packet) ?? 0
  return packet.readUInt16BE(header + 2 + packet.readUInt16BE(header))
}
