/**
 * The server for the official MCP suite. The suite calls a tool named `greet`, and our tool names have a namespace. The
 * fixture adds the namespace to requests and removes it from responses.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'callplane'
import { prompts, resources } from './offers.ts'
import { operations } from './operations.ts'
import { asking } from './questions.ts'

const WANTED = 'greet'
const OURS = 'plain_greet'

export interface Fixture {
  url: string
  close(): Promise<void>
}

export async function startFixture(): Promise<Fixture> {
  const data = mkdtempSync(join(tmpdir(), 'callplane-conformance-mcp-'))
  const server = await createServer({
    operations: [...operations, ...asking],
    data,
    // The suite polls as fast as it can, and must see three changes within 100 ms one by one.
    limits: { pollBurst: 10_000 },
    work: { progressEveryMs: 1 },
    mcp: { name: 'callplane-conformance', version: '1.0.0', resources, prompts, tasksOnly: ['v1:failing.job'] },
  })
  const front = createHttpServer(async (request, response) => {
    const answer = await server.fetch(await requestOf(request))
    // The renamed tool changes the length of the body.
    const { 'content-length': _length, ...headers } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, headers)
    if (!answer.body) return void response.end()
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      response.write(piece.replaceAll(`"${OURS}"`, `"${WANTED}"`))
    }
    response.end()
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const { port } = front.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      front.closeAllConnections()
      await new Promise((resolve) => front.close(resolve))
      await server.close(0)
      rmSync(data, { recursive: true, force: true })
    },
  }
}

async function requestOf(request: IncomingMessage): Promise<Request> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  const sent = Buffer.concat(pieces).toString()
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headersDistinct)) headers.set(name, value?.join(', ') ?? '')
  if (headers.get('mcp-name')?.trim() === WANTED) headers.set('mcp-name', OURS)
  const { method = 'GET', url = '/', headers: plain } = request
  const body = method === 'POST' ? { body: sent.replaceAll(`"name":"${WANTED}"`, `"name":"${OURS}"`) } : {}
  return new Request(`http://${plain.host ?? '127.0.0.1'}${url}`, { method, headers, ...body })
}
