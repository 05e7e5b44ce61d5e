/** A bare node:http server, written by hand for one operation: what no framework can beat by much. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdd, HEADERS } from './add.ts'
import type { Contender } from './contender.ts'

const MAX_BYTES = 1 << 20

export const start: Contender = async ({ validator }) => {
  const add = await createAdd(validator)
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== '/call') {
      response.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_BYTES) request.destroy()
      else chunks.push(chunk)
    })
    request.on('end', () => {
      const text = chunks.length === 1 ? (chunks[0] as Buffer).toString() : Buffer.concat(chunks).toString()
      const { status, body } = add(text)
      response.writeHead(status, { ...HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
