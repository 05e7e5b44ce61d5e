/** Sends an error response on a socket that Node has handed over for an upgrade, and closes the socket. */
import type { Duplex } from 'node:stream'
import type { Answer } from '../../core/ports/exchange.ts'

// A named import of node:http also evaluates its `WebSocket` and loads all of undici.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

/** Only for texts and bytes: an error response is not streamed. */
export function respond(socket: Duplex, { status, headers, body = '' }: Answer): void {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : ''
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${lines.join('')}Connection: close\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n`,
  )
  // Further data of the client is discarded: closing on unread data would reset the connection, and the client might
  // lose the response.
  socket.resume()
  socket.end(text, () => socket.destroy())
}
