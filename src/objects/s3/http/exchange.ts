/**
 * One request to S3 over node:http with kept connections, and its response. It knows timeouts and nothing of retries.
 * Downloads have connections of their own: a slow caller must not hold up an upload.
 */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import type { Endpoint } from '../target.ts'

export interface WireRequest {
  method: string
  path: string
  headers: Record<string, string>
  body?: Uint8Array
  /** The response is read at the speed of a caller. */
  streamed: boolean
}

export interface Timeouts {
  /** Until the connection is open. */
  connectMs: number
  /** Without a byte in either direction, while we wait for one. */
  idleMs: number
}

export interface Wire {
  send(request: WireRequest): Promise<IncomingMessage>
  /** The bytes of a response, as fast as they are taken. */
  bytesOf(response: IncomingMessage): AsyncGenerator<Buffer, void, void>
  close(): void
}

/** S3 servers close idle connections after some seconds, so more would only be reopened. */
const MAX_FREE = 32

export function createWire(endpoint: Endpoint, maxConnections: number, { connectMs, idleMs }: Timeouts): Wire {
  const { secure, hostname, port } = endpoint
  const Agent = secure ? SecureAgent : PlainAgent
  const start = secure ? secureRequest : plainRequest
  const settings = { keepAlive: true, scheduling: 'lifo' as const, maxFreeSockets: MAX_FREE }
  const short = new Agent({ ...settings, maxSockets: maxConnections })
  const streaming = new Agent(settings)

  return {
    send: ({ method, path, headers, body, streamed }) =>
      new Promise((resolve, reject) => {
        const request = start({ hostname, port, method, path, headers, agent: streamed ? streaming : short })
        request.on('error', reject)
        request.on('response', (response) => {
          // From here on, only `bytesOf` counts: a caller may take its time.
          request.setTimeout(0)
          resolve(response)
        })
        request.on('socket', (socket) => {
          if (!socket.connecting) return
          const timer = setTimeout(() => request.destroy(timedOut('no connection', connectMs)), connectMs)
          socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
        })
        request.setTimeout(idleMs, () => request.destroy(timedOut('no response', idleMs)))
        request.end(body)
      }),
    async *bytesOf(response) {
      const pieces = response[Symbol.asyncIterator]()
      try {
        for (;;) {
          const timer = setTimeout(() => response.destroy(timedOut('no further bytes', idleMs)), idleMs)
          const next = await pieces.next().finally(() => clearTimeout(timer))
          if (next.done) return
          yield next.value
        }
      } finally {
        // Ends the connection if the response was not read to its end.
        response.destroy()
      }
    },
    close() {
      short.destroy()
      streaming.destroy()
    },
  }
}

function timedOut(what: string, ms: number): Error {
  return Object.assign(new Error(`S3: ${what} within ${ms} ms`), { code: 'ETIMEDOUT' })
}
