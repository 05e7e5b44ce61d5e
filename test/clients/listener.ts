/** A proxy between a client and a server that forwards everything unchanged and records the requested methods. */
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** `methods` has the methods of the stateless revision, which sends them in a header. */
export async function listenTo(upstream: string): Promise<{ url: string; methods: string[] }> {
  const methods: string[] = []
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request
    methods.push(String(headers['mcp-method']))
    const onward = send(upstream + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers).flushHeaders()
      answer.pipe(response)
    })
    onward.on('error', (error) => response.destroy(error))
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, methods }
}
