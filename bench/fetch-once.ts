/** One request to a server under test, outside of any measured load. */
import { request } from 'node:http'

export interface Fetched {
  status: number
  headers: NodeJS.Dict<string | string[]>
  /** As received: nothing is unzipped. */
  body: Buffer
}

export function fetchOnce(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Fetched> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
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
