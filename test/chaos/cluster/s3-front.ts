/** A proxy in front of the S3 server that can answer with errors and be slow. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Front extends AsyncDisposable {
  readonly endpoint: string
  /** This share of the requests, from 0 to 1, fails with this status. */
  fail(share: number, status: 500 | 503): void
  slow(ms: number): void
  heal(): void
}

/** `chance` returns a number from 0 up to 1. */
export async function openS3Front(port: number, chance: () => number): Promise<S3Front> {
  let [share, status, delayMs] = [0, 503, 0]

  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method, url, headers } = incoming
    // The signature covers the host, so it is passed on as it is.
    const upstream = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  }
  const server = createServer((incoming, response) => {
    const fails = chance() < share
    setTimeout(() => {
      if (!fails) return pass(incoming, response)
      incoming.resume()
      const code = status === 503 ? 'SlowDown' : 'InternalError'
      response.writeHead(status, { 'Content-Type': 'application/xml' })
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>As asked.</Message></Error>`)
    }, delayMs)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail(newShare, newStatus) {
      share = newShare
      status = newStatus
    },
    slow(ms) {
      delayMs = ms
    },
    heal() {
      share = 0
      delayMs = 0
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
