/**
 * A network between two ends on this machine. It can hold packets back, as a reader that stands still would, and can
 * lose all of them, as for a reader that is gone.
 */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

export interface Relay {
  /** The end near the reader listens here. */
  readonly port: number
  /** Holds back what the server sends. */
  pause(): void
  resume(): void
  /** Loses every packet from now on. */
  close(): void
}

export async function openRelay(serverPort: number): Promise<Relay> {
  const [near, far] = await Promise.all([open(), open()])
  const held: Buffer[] = []
  let isPaused = false
  let readerPort: number | undefined
  const toReader = (packet: Buffer) => readerPort !== undefined && near.send(packet, readerPort, '127.0.0.1')
  near.on('message', (packet, { port }) => {
    readerPort = port
    far.send(packet, serverPort, '127.0.0.1')
  })
  far.on('message', (packet) => (isPaused ? held.push(packet) : toReader(packet)))
  let isOpen = true
  return {
    port: near.address().port,
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      for (const packet of held.splice(0)) toReader(packet)
    },
    close() {
      if (!isOpen) return
      isOpen = false
      near.close()
      far.close()
    },
  }
}

async function open(): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}
