/** A server that answers each request with what a test wrote down, whether it makes sense or not. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Told {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The envelope of a call. */
  readonly body:
    | { op?: string; ctx?: { requestId?: string; idempotencyKey?: string; traceparent?: string } }
    | undefined
}

export type Lie = (told: Told, response: ServerResponse, count: number) => void

export interface LyingServer {
  readonly url: string
  readonly told: readonly Told[]
}

export async function startLyingServer(lie: Lie): Promise<LyingServer> {
  const told: Told[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const one: Told = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
    told.push(one)
    lie(one, response, told.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, told }
}

export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** The id of the call that a request is about. */
export function idIn({ body, path }: Told): string {
  return body?.ctx?.requestId ?? decodeURIComponent(path.split('/')[2] ?? '')
}
