/**
 * The load's MQTT 5 client: it writes and reads the few packets that it needs, because a library would cost more than
 * the servers. It sends with QoS 1 and reads with QoS 0.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { BrokerLine } from './broker-load.ts'
import { type BrokerPlace, mqttTopics } from './contenders/brokers.ts'

const CONNECT = 0x10
const CONNACK = 2
const PUBLISH = 3
const PUBLISH_QOS_1 = 0x32
const SUBSCRIBE = 0x82
const SUBACK = 9
const NO_PROPERTIES = Buffer.from([0])

export async function openMqttLine(broker: BrokerPlace): Promise<BrokerLine> {
  const socket = connect({ port: broker.port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let rest: Buffer = Buffer.alloc(0)
  let packetId = 0
  let corked = false
  let confirmed = (_type: number) => {}
  const line: BrokerLine = {
    operation: '',
    receive: () => {},
    send(text) {
      packetId = (packetId % 65_535) + 1
      // The packets of one turn leave in one write.
      if (!corked) {
        corked = true
        socket.cork()
        process.nextTick(() => {
          corked = false
          socket.uncork()
        })
      }
      const topic = stringOf(`${broker.prefix}/${line.operation}`)
      socket.write(packet(PUBLISH_QOS_1, [topic, u16(packetId), NO_PROPERTIES, Buffer.from(text)]))
    },
    async close() {
      socket.destroy()
    },
  }
  socket.on('data', (data) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    let at = 0
    for (let end = endOf(rest, at); end !== undefined; end = endOf(rest, at)) {
      const type = (rest[at] as number) >> 4
      if (type === PUBLISH) line.receive(payloadOf(rest, at, end))
      else confirmed(type)
      at = end
    }
    rest = rest.subarray(at)
  })
  const confirmation = (type: number) =>
    new Promise<void>((resolve) => {
      confirmed = (got) => {
        if (got === type) resolve()
      }
    })
  const clean = [0x02, 0, 0]
  socket.write(
    packet(CONNECT, [stringOf('MQTT'), Buffer.from([5, ...clean]), NO_PROPERTIES, stringOf(`load-${broker.prefix}`)]),
  )
  await confirmation(CONNACK)
  const filter = stringOf(mqttTopics(broker).response('+'))
  socket.write(packet(SUBSCRIBE, [u16(1), NO_PROPERTIES, filter, Buffer.from([0])]))
  await confirmation(SUBACK)
  return line
}

function packet(head: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  for (let left = body.length; ; left >>= 7) {
    if (left < 128) {
      length.push(left)
      break
    }
    length.push((left & 127) | 128)
  }
  return Buffer.concat([Buffer.from([head, ...length]), body])
}

function stringOf(text: string): Buffer {
  return Buffer.concat([u16(Buffer.byteLength(text)), Buffer.from(text)])
}

function u16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255])
}

/** The number at this place, which takes one to four bytes, and the place after it. `undefined` if it is not complete. */
function varint(bytes: Buffer, at: number): [value: number, next: number] | undefined {
  let value = 0
  for (let n = 0; n < 4; n++) {
    const byte = bytes[at + n]
    if (byte === undefined) return undefined
    value |= (byte & 127) << (7 * n)
    if (byte < 128) return [value, at + n + 1]
  }
  throw new Error('The broker sent a length of more than four bytes.')
}

/** The end of the packet that begins here. `undefined` if it has not arrived completely. */
function endOf(bytes: Buffer, at: number): number | undefined {
  const [length, body] = varint(bytes, at + 1) ?? [Number.POSITIVE_INFINITY, 0]
  return body + length <= bytes.length ? body + length : undefined
}

/** QoS 0: a packet has no id. */
function payloadOf(bytes: Buffer, at: number, end: number): string {
  const [, body] = varint(bytes, at + 1) as [number, number]
  const [properties, payload] = varint(bytes, body + 2 + bytes.readUInt16BE(body)) as [number, number]
  return bytes.toString('utf8', payload + properties, end)
}
