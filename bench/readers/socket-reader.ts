/** A WebSocket client that only counts bytes, so that the readers cost little beside the server that is measured. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface SocketReader {
  /** Bytes received so far, including the response to the upgrade. */
  bytes(): number
  /** Resolves after the first bytes. */
  opened: Promise<void>
  close(): void
}

export function openReader(port: number, path: string, buffer: Uint8Array): SocketReader {
  let received = 0
  const opened = Promise.withResolvers<void>()
  const socket: Socket = connect({
    port,
    host: '127.0.0.1',
    // All readers share the buffer: nothing is kept.
    onread: {
      buffer,
      callback(length) {
        received += length
        opened.resolve()
        return true
      },
    },
  })
  socket.on('error', opened.reject)
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  )
  return { bytes: () => received, opened: opened.promise, close: () => void socket.destroy() }
}
