/**
 * Passes UDP packets between one client and a server, and can hold them back. The library's client reads whatever
 * arrives, so a reader that does not read is a network that does not deliver: the server gets no acknowledgement.
 */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

export interface Relay {
  readonly port: number
  /** The first packet from the server that is longer than the packets of a handshake. */
  readonly probe: Promise<number>
  pause(): void
  resume(): void
  close(): void
}

export async function startRelay(serverPort: number): Promise<Relay> {
  const near = await bind()
  const far = await bind()
  let isPaused = false
  let client: number | undefined
  const probe = Promise.withResolvers<number>()
  near.on('message', (packet, { port }) => {
    client = port
    if (!isPaused) far.send(packet, serverPort, '127.0.0.1')
  })
  far.on('message', (packet) => {
    if (packet.length > 1200) probe.resolve(packet.length)
    if (!isPaused && client !== undefined) near.send(packet, client, '127.0.0.1')
  })
  return {
    port: near.address().port,
    probe: probe.promise,
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
    },
    close() {
      near.close()
      far.close()
    },
  }
}

async function bind(): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}
