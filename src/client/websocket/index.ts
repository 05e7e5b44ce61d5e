/** `callplane/client/websocket`: all calls and streams of a client on one WebSocket. Files go over HTTP. */
import { Addresses } from '../addresses.ts'
import { createHttpTransport } from '../full-http.ts'
import { unreachable } from '../messages/envelopes.ts'
import type { OpenLink } from '../messages/link.ts'
import { MessageTransport } from '../messages/message-transport.ts'
import type { HttpOptions } from '../options.ts'
import type { Transport } from '../transport.ts'

/** `url` is that of the server, as for a client over HTTP. */
export type WebSocketOptions = Pick<HttpOptions, 'url' | 'token' | 'headers' | 'trustedOrigins' | 'fetch'>

/**
 * The token is in the first message, and not in the address, which proxies log. `headers` are those of HTTP requests:
 * a WebSocket of a browser has none.
 */
export function webSocketTransport(options: WebSocketOptions): Transport {
  const address = `${new Addresses(options.url).base.replace(/^http/, 'ws')}/call`
  return new MessageTransport({
    open: openSocket(address),
    frameKey: ({ channel }) => String(channel),
    hasEarlyFrames: false,
    token: options.token,
    showsTokenAlways: false,
    expectsAnswers: true,
    endCanOvertake: false,
    http: createHttpTransport(options),
  })
}

/** The number of the channel, before every frame. */
const CHANNEL_BYTES = 4

function openSocket(address: string): OpenLink {
  return (events) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(address)
      const { host } = new URL(address)
      socket.binaryType = 'arraybuffer'
      socket.onopen = () =>
        resolve({
          send: ({ text }) => socket.send(text),
          close: () => socket.close(),
        })
      socket.onmessage = ({ data }) => {
        if (typeof data === 'string') return events.message(data)
        const frame = data as ArrayBuffer
        if (frame.byteLength < CHANNEL_BYTES) return
        events.frame(String(new DataView(frame).getUint32(0)), new Uint8Array(frame, CHANNEL_BYTES))
      }
      // A connection that fails is closed, too. A browser does not say why.
      socket.onclose = ({ code, reason }) => {
        const why = reason || `code ${code}`
        reject(unreachable(`${host} opens no WebSocket: ${why}.`))
        events.lost(`The connection to ${host} was lost: ${why}.`)
      }
    })
}
