/** How each contender of the sockets suite calls the addition over one WebSocket. */
import type { CallWire } from './call-window.ts'

export interface SocketWire extends CallWire {
  path: string
  /** Sent after the server's first message, where the protocol has a greeting. */
  greeting?: string
  /** A message with which the server asks if the client is there, and the reply without which it closes the socket. */
  alive?: { asks: string; reply: string }
}

export const SOCKET_WIRES = {
  opencall: {
    path: '/call',
    encode: (n) => JSON.stringify({ op: 'v1:Calculator.Add', args: { a: n, b: 1 }, ctx: { requestId: String(n) } }),
    decode(text) {
      const { requestId, result } = JSON.parse(text)
      return { n: Number(requestId), sum: result }
    },
  },
  trpc: {
    path: '/',
    encode: (n) => JSON.stringify({ id: n, method: 'mutation', params: { path: 'add', input: { a: n, b: 1 } } }),
    decode(text) {
      const { id, result } = JSON.parse(text)
      return { n: id, sum: result?.data }
    },
  },
  orpc: {
    path: '/',
    encode: (n) => JSON.stringify({ i: String(n), p: { u: '/add', b: { json: { a: n, b: 1 } } } }),
    decode(text) {
      const { i, p } = JSON.parse(text)
      return { n: Number(i), sum: p?.b?.json }
    },
  },
  socketIo: {
    path: '/socket.io/?EIO=4&transport=websocket',
    greeting: '40',
    alive: { asks: '2', reply: '3' },
    encode: (n) => `42${n}["add",{"a":${n},"b":1}]`,
    decode(text) {
      const [, n, sum] = /^43(\d+)\[(.*)\]$/.exec(text) ?? []
      return n === undefined ? undefined : { n: Number(n), sum: Number(sum) }
    },
  },
} satisfies Record<string, SocketWire>

export type SocketWireName = keyof typeof SOCKET_WIRES
