/**
 * Passes UDP packets between one client and a server, and can hold them back. The library's client reads whatever
 * arrives, so a reader that does not read is a network that does not deliver: the server gets no acknowledgement.
 */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

export interface Relay {
  readonly port: number
  pause(): void
  resume(): void
  close(): void
}

export async function startRelay(serverPort: number): Promise<Relay> {
  const near = await bind()
  const far = await bind()
  let isPaused = false
  let client: number | undefined
  near.on('message', (packet, { port }) => {
    client = port
    if (!isPaused) far.send(packet, serverPort, '127.0.0.1')
  })
  far.on('message', (packet) => {
    if (!isPaused && client !== undefined) near.send(packet, client, '127.0.0.1')
  })
  return {
    port: near.address().port,
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
