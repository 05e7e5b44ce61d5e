/** Follows a call after a 202: polls until the end, and fetches chunks until the last. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type JsonMembers, must, mustBeObject, mustBeOneOf, mustBeText, mustEqual } from '../assertions.ts'
import { expectStatus, type HttpAnswer, parseJson, type RequestInfo } from '../http.ts'
import type { Sent } from './envelope.ts'
import { type Answered, needsKey, type OpenCallPart, type Subject } from './subject.ts'

const PATIENCE_MS = 30_000
/** Poll interval if the server gives none. */
const CADENCE_MS = 250

export interface Started extends HttpAnswer {
  body: JsonMembers
  ids: { requestId: string; sessionId: string }
  /** The URI to poll: from `location`, or the suggested endpoint. */
  uri: string
}

/** Starts a call to poll. Only the cases about its envelope check it, so that a flaw does not hide other findings. */
export async function startCall(server: Subject, part: OpenCallPart, request: RequestInfo = {}): Promise<Started> {
  const ids = { requestId: randomUUID(), sessionId: randomUUID() }
  const { op, args, entry } = part
  const ctx = { ...ids, ...(needsKey(entry) && { idempotencyKey: randomUUID() }) }
  const headers = { 'content-type': 'application/json', ...request.headers }
  const body = JSON.stringify({ op, args, ctx })
  const answer = await expectStatus(202, server.send('/call', { ...request, method: 'POST', headers, body }))
  const envelope = parseJson(answer)
  const uri = (envelope.location as { uri?: unknown } | undefined)?.uri
  return { ...answer, body: envelope, ids, uri: typeof uri === 'string' ? uri : `/ops/${ids.requestId}` }
}

/** Polls to the last response, without checking the envelopes before it. */
export async function awaitEnd(server: Subject, where: string): Promise<HttpAnswer & { body: JsonMembers }> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const answer = await server.send(where)
    const body = parseJson(answer)
    if (body.state === 'complete' || body.state === 'error') return { ...answer, body }
    await pause(hint(body))
  }
  must(false, `The call at ${where} did not end within ${PATIENCE_MS} ms.`)
}

/** Returns every response until the end. The last one has the outcome. */
export async function pollToEnd(server: Subject, where: string, sent: Sent): Promise<Answered[]> {
  const answers: Answered[] = []
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const answer = await server.ask(where, {}, sent)
    answers.push(answer)
    if (answer.envelope.state === 'complete' || answer.envelope.state === 'error') return answers
    await pause(hint(answer.envelope))
  }
  must(false, `The call at ${where} did not end within ${PATIENCE_MS} ms.`)
  return answers
}

export function lastOf<T>(items: readonly T[]): T {
  const last = items.at(-1)
  must(last !== undefined, 'There was no response at all.')
  return last
}

export interface ChunkAnswer {
  state: unknown
  mimeType: unknown
  cursor: unknown
  total: unknown
  offset: number
  length: number
  checksum: unknown
  checksumPrevious: unknown
  /** True if the response has the field: null and absent differ. */
  hasPrevious: boolean
  data: string
}

/** Fetches one chunk, and waits while the server is writing it. Checks the session only if `sent` is set. */
export async function fetchChunk(
  server: Subject,
  requestId: string,
  cursor: string | undefined,
  sent?: Sent,
): Promise<ChunkAnswer> {
  let next = cursor
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const answer = await expectStatus(200, server.send(chunkPath(requestId, next)))
    const body = parseJson(answer)
    mustEqual(body.requestId, requestId, `requestId of the response to ${answer.asked}`)
    if (sent) mustEqual(body.sessionId, sent.sessionId, `sessionId of the response to ${answer.asked}`)
    mustBeOneOf(body.state, ['pending', 'complete'], `state of the response to ${answer.asked}`)
    if (body.chunk !== undefined) return readChunk(body)
    mustEqual(body.state, 'pending', 'state of a response without a chunk')
    if (body.cursor !== null && body.cursor !== undefined) next = mustBeText(body.cursor, 'cursor')
    await pause(hint(body))
  }
  must(false, `No chunk of ${requestId} came within ${PATIENCE_MS} ms.`)
}

/** Fetches all chunks in order, by the server's cursors. */
export async function fetchChunks(server: Subject, requestId: string, sent?: Sent): Promise<ChunkAnswer[]> {
  const chunks: ChunkAnswer[] = []
  const used = new Set<string>()
  let cursor: string | undefined
  for (;;) {
    const chunk = await fetchChunk(server, requestId, cursor, sent)
    chunks.push(chunk)
    if (chunk.state === 'complete') return chunks
    cursor = mustBeText(chunk.cursor, `cursor of chunk ${chunks.length - 1}`)
    // Otherwise a server that repeats cursors would cause an endless loop.
    must(!used.has(cursor), `The cursor ${cursor} leads back to itself.`)
    used.add(cursor)
  }
}

export function chunkPath(requestId: string, cursor?: string): string {
  return `/ops/${requestId}/chunks${cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`}`
}

function readChunk(body: JsonMembers): ChunkAnswer {
  const { state, mimeType, cursor, total, data } = body
  const chunk = mustBeObject(body.chunk, 'chunk')
  const { offset, length, checksum, checksumPrevious } = chunk
  must(typeof offset === 'number' && typeof length === 'number', 'chunk.offset and chunk.length are not numbers.')
  must(typeof data === 'string', 'data of a chunk is not a string.')
  const hasPrevious = 'checksumPrevious' in chunk
  return { state, mimeType, cursor, total, offset, length, checksum, checksumPrevious, hasPrevious, data }
}

function hint({ retryAfterMs }: JsonMembers): number {
  return typeof retryAfterMs === 'number' ? Math.min(retryAfterMs, 5_000) : CADENCE_MS
}
