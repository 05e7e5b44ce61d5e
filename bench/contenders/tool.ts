/**
 * A remote tool that returns its input, either plainly or in the envelope of the Tool Contract. It does almost no work.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contender } from './contender.ts'

export const start: Contender = async () => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const body = request.url === '/execute' ? execute(text) : text
      response
        .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
        .end(body)
    })
  })
  // Longer than any contender is idle between rounds, so that the tool never closes an unused connection.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function execute(text: string): string {
  const { request_id, input, trace } = JSON.parse(text)
  return JSON.stringify({
    tool_contract_version: 'v1',
    request_id,
    status: 'ok',
    output: input,
    usage: { duration_ms: 0, attempt: 1 },
    trace,
  })
}
