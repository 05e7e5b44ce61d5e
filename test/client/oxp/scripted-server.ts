/** A server whose responses a test writes out. It records what it receives. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { OxpError } from 'callplane/client/oxp'
import { expect, onTestFinished } from 'vitest'

/** The members of a call that tests read: of OXP as the body itself, or below `request`. */
export interface SentBody {
  $schema?: string
  request?: SentBody
  call_id?: string
  input?: unknown
}

export interface Received {
  method: string
  path: string
  headers: IncomingMessage['headers']
  /** Parsed. */
  body: SentBody
}

/** A JSON response, or a function that writes one. */
export type Scripted =
  | { status?: number; headers?: Record<string, string>; body: unknown }
  | ((response: ServerResponse, request: Received) => void)

export interface ScriptedServer {
  url: string
  /** With their order. */
  received: Received[]
}

/** The last response is repeated. */
export async function startScripted(...script: readonly Scripted[]): Promise<ScriptedServer> {
  const received: Received[] = []
  const server = createServer(async (message, response) => {
    const { method = '', url = '', headers } = message
    const sent = await text(message)
    const request = { method, path: url, headers, body: sent === '' ? {} : (JSON.parse(sent) as SentBody) }
    received.push(request)
    const next = script[Math.min(received.length, script.length) - 1]
    if (typeof next === 'function') next(response, request)
    else if (next) {
      response.writeHead(next.status ?? 200, { 'Content-Type': 'application/json', ...next.headers })
      response.end(JSON.stringify(next.body))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

export function succeeds(value: unknown): Scripted {
  return (response, { body }) => {
    const result = { call_id: (body.request ?? body).call_id, duration: 2, success: true, value }
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(body.request ? { $schema: body.$schema, result } : result))
  }
}

export function fails(error: object): Scripted {
  return { body: { success: false, error } }
}

/** The error that the call rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<OxpError> {
  const thrown = await work.then(
    () => expect.unreachable('the call succeeded'),
    (error: unknown) => error,
  )
  if (!(thrown instanceof OxpError)) throw thrown
  return thrown
}
