/** A remote tool: a real server on loopback that responds as the test says and records its requests. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import type { BackendParts } from '../../src/core/ports/backend.ts'
import type { RemoteClient } from '../../src/core/ports/outbound.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import type { ToolExecutionRequest } from '../../src/protocols/contract/wire.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'

export interface Asked {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface ToolServer {
  url: string
  asked: Asked[]
  /** Resolves with the first request. */
  begun: Promise<void>
  /** Resolves when the sender aborted a request, or the tool got a stop request. */
  stopped: Promise<void>
  connections(): number
  close(): Promise<void>
}

export type Respond = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void

export async function startTool(respond: Respond): Promise<ToolServer> {
  const asked: Asked[] = []
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  let connections = 0
  const server = createServer(async (request, response) => {
    response.on('close', () => response.writableFinished || stopped.resolve())
    // Ignores the request if its sender aborts while sending.
    const body = await readText(request).catch(() => undefined)
    if (body === undefined) return
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    asked.push(one)
    if (one.method === 'DELETE') {
      stopped.resolve()
      response.writeHead(204).end()
      return
    }
    begun.resolve()
    respond(one, response, request)
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    begun: begun.promise,
    stopped: stopped.promise,
    connections: () => connections,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Opens the same tool and closes it when the test ends. */
export async function openTool(respond: Respond): Promise<ToolServer> {
  const tool = await startTool(respond)
  onTestFinished(() => tool.close())
  return tool
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>)
  return Buffer.concat(chunks).toString()
}

export function partsWith(clock: Clock, remote: RemoteClient = createRemoteClient()): BackendParts {
  return { clock, log: createMemoryLog([]), remote, folder: '/' }
}

export function requestIn({ body }: Asked): ToolExecutionRequest {
  return JSON.parse(body)
}

/** Returns a valid response to this request; `more` adds or replaces members. */
export function responseTo({ request_id, trace, input }: ToolExecutionRequest, more: JsonObject = {}): string {
  return JSON.stringify({
    tool_contract_version: 'v1',
    request_id,
    status: 'ok',
    output: input,
    usage: { duration_ms: 1, attempt: 1 },
    trace,
    ...more,
  })
}

/** Sends data as fast as the other side reads it, until the connection is cut. */
export function flood(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 'a')
  const pour = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', pour)
  pour()
}
