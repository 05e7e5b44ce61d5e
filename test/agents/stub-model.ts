/** A provider's API on loopback. The test scripts the model's response to each request. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface StubModel<Request> {
  url: string
  /** The requests received so far. */
  requests: Request[]
}

export async function serveModel<Request>(answers: readonly object[]): Promise<StubModel<Request>> {
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    const answer = answers[requests.length]
    requests.push((await json(request)) as Request)
    response.writeHead(answer ? 200 : 400, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(answer ?? { error: { message: 'The model has nothing more to say.' } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  onTestFinished(() => server.closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
