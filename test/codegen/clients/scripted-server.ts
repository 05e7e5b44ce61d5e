/** A server that says what a test wants, true or not, and remembers what it was sent. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A call as a client sends it. */
export interface SentEnvelope {
  op?: string
  args?: Record<string, unknown>
  ctx?: Record<string, unknown>
}

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** Empty if the body is not JSON. */
  body: SentEnvelope
  atMs: number
}

export interface Scripted {
  status?: number
  headers?: Record<string, string>
  /** An object is sent as JSON. */
  body?: unknown
  /** Sends the body and leaves the response open. */
  open?: true
}

export interface ScriptedServer {
  url: string
  received: Received[]
}

/** `script` may return 'silence' to never respond, and 'hang up' to close the connection. */
export async function startScript(
  script: (request: Received, url: string) => Scripted | 'silence' | 'hang up',
): Promise<ScriptedServer> {
  const received: Received[] = []
  let url = ''
  const server = createServer(async (incoming, outgoing) => {
    const sent = await text(incoming)
    const json = incoming.headers['content-type'] === 'application/json'
    const request: Received = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: json ? (JSON.parse(sent) as SentEnvelope) : {},
      atMs: performance.now(),
    }
    received.push(request)
    const answer = script(request, url)
    if (answer === 'silence') return
    if (answer === 'hang up') {
      outgoing.destroy()
      return
    }
    const { status = 200, headers, body = {}, open } = answer
    const asText = typeof body === 'string'
    outgoing.writeHead(status, { 'Content-Type': asText ? 'text/plain' : 'application/json', ...headers })
    outgoing.write(asText ? body : JSON.stringify(body))
    if (!open) outgoing.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, received }
}
