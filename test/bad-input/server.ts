/** A real server on a free port, with checks that a bad request did no harm. */
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createServer, type ServerOptions } from 'callplane'
import { expect, onTestFinished } from 'vitest'
import * as operations from './operations.ts'

export interface Envelope {
  requestId: string
  state: string
  sessionId?: string
  result?: unknown
  location?: { uri: string }
  error?: { code: string; message: string; cause?: Record<string, unknown> }
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-bad-input-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export type Running = Awaited<ReturnType<typeof startServer>>

export async function startServer(options: Partial<ServerOptions> = {}) {
  const data = options.data ?? (await temporaryFolder())
  const server = await createServer({ operations: Object.values(operations), data, ...options })
  const { url, port } = await server.listen({ port: 0 })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= server.close(0)
    return closing
  }
  onTestFinished(close)

  async function call(envelope: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return send(JSON.stringify(envelope), { 'Content-Type': 'application/json', ...headers })
  }
  async function send(body: string | Uint8Array | FormData, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${url}/call`, { method: 'POST', headers, body })
  }
  /** Expects that the next call succeeds and that nothing is stored of the refused ones. */
  async function expectUnharmed(headers: Record<string, string> = {}): Promise<void> {
    const next = await call({ op: 'v1:Calculator.Add', args: { a: 1, b: 2 } }, headers)
    expect(await next.json()).toMatchObject({ state: 'complete', result: 3 })
    await close()
    expect(storedCalls(data)).toBe(0)
    expect(storedFiles(data)).toEqual([])
  }
  return { url, port, data, server, call, send, close, expectUnharmed }
}

/** Returns the number of calls that a closed server has stored. */
export function storedCalls(data: string): number {
  const db = new Database(join(data, 'callplane.db'), { readonly: true })
  try {
    return Number(db.prepare('SELECT count(*) FROM instances').pluck().get())
  } finally {
    db.close()
  }
}

/** Returns every file of the object store, including unfinished ones. */
export function storedFiles(data: string): string[] {
  const entries = readdirSync(join(data, 'objects'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Expects a refusal in OpenCALL's format with a useful message. */
export async function expectRefusal(
  response: Response,
  status: number,
  code: string,
): Promise<Required<Envelope>['error'] & { requestId: string }> {
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const envelope = (await response.json()) as Envelope
  return expectRefusalEnvelope(response.status, envelope, status, code)
}

export function expectRefusalEnvelope(got: number, envelope: Envelope, status: number, code: string) {
  expect({ status: got, code: envelope.error?.code, message: envelope.error?.message }).toMatchObject({ status, code })
  const { requestId, state, error, result, location } = envelope
  expect({ state, result, location }).toEqual({ state: 'error' })
  expect(requestId).toMatch(/./)
  // A sentence, not only a code.
  expect(error?.message).toMatch(/\w+ \w+ .*[.-]$/)
  return { requestId, ...(error as Required<Envelope>['error']) }
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
