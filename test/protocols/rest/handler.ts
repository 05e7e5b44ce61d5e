/** `createToolHandler` behind both of its interfaces, and requests to it that are sent unmodified. */
import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createToolHandler,
  type HostTool,
  type ToolCallHandler,
  type ToolHandlerConfig,
  type ToolsProvider,
} from 'callplane'
import { onTestFinished } from 'vitest'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'

export type Face = 'fetch' | 'node'

export interface Answered {
  status: number
  type: string | null
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  json: any
}

export interface Opened {
  lines: LogLine[]
  send(path: string, init?: RequestInit): Promise<Answered>
  call(name: string, body?: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<Answered>
}

export const WEATHER: HostTool = {
  name: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
  },
}

/** Responds like the example of the document. */
export const sunny: ToolCallHandler = async () => [[{ type: 'text', text: 'result here' }], false, 'abc-123']

/** Tool execution is enabled unless `config` disables it. */
export async function openHandler(
  face: Face,
  handleCall: ToolCallHandler,
  config: ToolHandlerConfig = {},
  tools: ToolsProvider = [WEATHER],
): Promise<Opened> {
  const lines: LogLine[] = []
  const handler = createToolHandler(tools, handleCall, { allowExecute: true, log: createMemoryLog(lines), ...config })
  const send =
    face === 'fetch'
      ? async (path: string, init?: RequestInit) =>
          answered(await handler.fetch(new Request(`http://tools.example${path}`, init)))
      : await sendOver(handler.node)
  return {
    lines,
    send,
    call: (name, body = '{"city":"Rome"}', headers = {}) =>
      send(`/tools/${name}/call`, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json', ...headers },
      }),
  }
}

async function sendOver(listener: Parameters<typeof createServer>[1]): Promise<Opened['send']> {
  const server = createServer(listener as never).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  // Does not use fetch, which normalizes paths before it sends them.
  return (path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const sent = sendRequest({ port, host: '127.0.0.1', path, method, headers: headers as Record<string, string> })
      sent.on('error', reject).on('response', async (response) => {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk as Buffer)
        const plain = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
        const whole = Buffer.concat(chunks).toString()
        resolve(await answered(new Response(whole || null, { status: response.statusCode ?? 0, headers: plain })))
      })
      sent.end(body as string | Uint8Array | undefined)
    })
}

export async function answered(response: Response): Promise<Answered> {
  const text = await response.text()
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    type,
    headers: response.headers,
    text,
    json: type === 'application/json' ? JSON.parse(text) : undefined,
  }
}
