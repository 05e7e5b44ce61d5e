/** Sends one request to a server under test, outside any measured load. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http'

export interface Fetched {
  status: number
  headers: IncomingHttpHeaders
  /** The body as received, not decompressed. */
  body: Buffer
}

/** Sends a POST if there is a body. Without an agent, the connection is not reused. */
export function fetchOnce(
  port: number,
  path: string,
  { agent, body, headers = {} }: { agent?: Agent; body?: string; headers?: Record<string, string> } = {},
): Promise<Fetched> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: agent ?? false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
