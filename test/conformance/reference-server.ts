/**
 * A small OpenCALL server on bare node:http that shares no code with ours. It conforms, apart from one planted defect.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ChunkedResult,
  complaintAbout,
  DomainFailure,
  FileResult,
  type Json,
  type Ran,
  REMOVED,
  type ReferenceOperation,
  referenceOperations,
} from './reference-operations.ts'
import { attachments, type Defect, isObject, Refusal, readEnvelope } from './reference-request.ts'

export type { Defect } from './reference-request.ts'

export const TOKENS = { ann: 'token-of-ann-4711', ben: 'token-of-ben-4712' } as const

interface Instance {
  caller: string
  requestId: string
  sessionId: string | undefined
  operation: ReferenceOperation
  outcome: unknown
  /** Number of polls so far. The call is accepted at first, then pending, then complete. */
  polls: number
  expiresAt: number
}

interface Answer {
  status: number
  headers?: Record<string, string>
  body: unknown
}

export async function startReferenceServer(defect?: Defect): Promise<{ url: string; close(): Promise<void> }> {
  const reference = new ReferenceServer(defect)
  const server = createServer((request, response) => {
    reference.serve(request, response).catch((error: Error) => response.destroy(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

class ReferenceServer {
  readonly #defect: Defect | undefined
  readonly #instances = new Map<string, Instance>()
  readonly #kept = new Map<string, unknown>()
  readonly #files = new Map<string, FileResult>()

  constructor(defect: Defect | undefined) {
    this.#defect = defect
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, headers, body } = await this.#answer(request).catch((thrown: unknown) => this.#refuse(thrown))
    const raw = Buffer.isBuffer(body) || body === undefined
    const content = raw ? (body ?? Buffer.alloc(0)) : Buffer.from(JSON.stringify(body))
    response.writeHead(status, { ...(!raw && { 'content-type': 'application/json' }), ...headers }).end(content)
  }

  #refuse(thrown: unknown): Answer {
    if (thrown instanceof TypeError && this.#defect === 'null-body') {
      return { status: 500, headers: { 'content-type': 'text/plain' }, body: Buffer.from('Internal Server Error') }
    }
    if (!(thrown instanceof Refusal)) throw thrown
    const { headers, cause, requestId = randomUUID(), sessionId } = thrown.details
    const error = { code: thrown.code, message: thrown.message, ...(cause && { cause }) }
    const body = { requestId, ...(sessionId !== undefined && { sessionId }), state: 'error', error }
    return { status: thrown.status, ...(headers && { headers }), body }
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const [, first, id, rest] = pathname.split('/')
    if (pathname === '/call') {
      if (this.#defect === 'put-404' && request.method === 'PUT') throw notFound('Nothing is here.')
      allow(request, 'POST', 'Use POST /call to call an operation, and GET /.well-known/ops to find one.')
      return this.#call(request)
    }
    if (pathname === '/.well-known/ops') {
      allow(request, 'GET', 'The registry can only be read.')
      return registry(request)
    }
    if (first === 'ops' && id !== undefined) {
      allow(request, 'GET', 'A call can only be polled.')
      const instance = this.#find(id, this.#caller(request))
      return rest === 'chunks' ? this.#chunk(instance, searchParams.get('cursor')) : this.#poll(instance)
    }
    const file = first === 'files' ? this.#files.get(id ?? '') : undefined
    if (file) return serveFile(request, file)
    throw notFound(`Nothing is at ${pathname}.`)
  }

  #caller({ headers: { authorization } }: IncomingMessage): string {
    const found = Object.entries(TOKENS).find(([, token]) => authorization === `Bearer ${token}`)
    if (!found) throw new Refusal(401, 'AUTH_REQUIRED', 'A bearer token is needed for this.')
    return found[0]
  }

  async #call(request: IncomingMessage): Promise<Answer> {
    const { envelope, parts } = await readEnvelope(request, this.#defect)
    const { op, args = {}, ctx, media } = envelope
    const { requestId = randomUUID(), sessionId, idempotencyKey } = (isObject(ctx) ? ctx : {}) as Record<string, string>
    const ids = { ...(typeof requestId === 'string' && { requestId }), ...(sessionId !== undefined && { sessionId }) }
    const invalid = (message: string) => new Refusal(400, 'INVALID_REQUEST', message, ids)
    if (typeof op !== 'string') throw invalid('"op" must be a string.')
    if (ctx !== undefined && (!isObject(ctx) || typeof requestId !== 'string'))
      throw invalid('ctx.requestId is no text.')
    const operation = referenceOperations.find(({ entry }) => entry.op === op)
    if (!operation) throw unknownOperation(op, ids)
    const caller = this.#as(() => this.#caller(request), ids)
    const complaint = complaintAbout(operation.entry.argsSchema as Json, args)
    if (complaint !== undefined) throw new Refusal(400, 'VALIDATION_ERROR', `${op}: ${complaint}.`, ids)
    const files = attachments(operation.entry, media, parts, invalid)
    if (operation.entry.idempotencyRequired && idempotencyKey === undefined)
      throw invalid('An idempotencyKey is needed.')
    const outcome = this.#run(operation, { args: args as Json, files }, caller, idempotencyKey)
    return this.#reply(operation, outcome, caller, requestId, sessionId)
  }

  /** An error raised inside the server carries the ids of the request. */
  #as<T>(work: () => T, ids: Refusal['details']): T {
    try {
      return work()
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown
      throw new Refusal(thrown.status, thrown.code, thrown.message, ids)
    }
  }

  #run(operation: ReferenceOperation, ran: Ran, caller: string, key: string | undefined): unknown {
    const scope = this.#defect === 'shared-keys' ? String(key) : `${caller} ${operation.entry.op} ${key}`
    const keeps = operation.entry.sideEffecting === true && key !== undefined
    if (keeps && this.#kept.has(scope)) return this.#kept.get(scope)
    const outcome = runSafely(operation, ran)
    if (keeps) this.#kept.set(scope, outcome)
    return outcome
  }

  #reply(
    operation: ReferenceOperation,
    outcome: unknown,
    caller: string,
    requestId: string,
    sessionId: string | undefined,
  ): Answer {
    const base = { requestId, ...(sessionId !== undefined && { sessionId }) }
    if (operation.entry.executionModel === 'async') {
      const expiresAt = Math.floor(Date.now() / 1000) + Number(operation.entry.ttlSeconds)
      this.#instances.set(requestId, { caller, requestId, sessionId, operation, outcome, polls: 0, expiresAt })
      const location = this.#defect === 'no-location' ? undefined : { uri: `/ops/${requestId}` }
      return { status: 202, body: { ...base, state: 'accepted', location, retryAfterMs: 5, expiresAt } }
    }
    if (outcome instanceof DomainFailure) {
      return { status: 200, body: { ...base, state: 'error', error: { code: outcome.code, message: outcome.message } } }
    }
    if (!(outcome instanceof FileResult)) return { status: 200, body: { ...base, state: 'complete', result: outcome } }
    const id = randomUUID()
    this.#files.set(id, outcome)
    const expiresAt = Math.floor(Date.now() / 1000) + Number(operation.entry.ttlSeconds)
    return { status: 202, body: { ...base, state: 'complete', location: { uri: `/files/${id}` }, expiresAt } }
  }

  #find(id: string, caller: string): Instance {
    const found = this.#instances.get(id)
    if (!found || (found.caller !== caller && this.#defect !== 'open-polls')) {
      throw notFound('No call has this id, or it has expired.')
    }
    return found
  }

  #poll(instance: Instance): Answer {
    const { requestId, sessionId, outcome, expiresAt } = instance
    const base = { requestId, ...(sessionId !== undefined && { sessionId }), expiresAt }
    const here = { uri: `/ops/${requestId}` }
    if (++instance.polls < 3) {
      const location = this.#defect === 'no-location' ? undefined : here
      return { status: 202, body: { ...base, state: 'pending', location, retryAfterMs: 5 } }
    }
    if (!(outcome instanceof ChunkedResult))
      return { status: 200, body: { ...base, state: 'complete', result: outcome } }
    return { status: 202, body: { ...base, state: 'complete', location: { uri: `${here.uri}/chunks` } } }
  }

  #chunk({ requestId, sessionId, outcome, polls }: Instance, cursor: string | null): Answer {
    if (!(outcome instanceof ChunkedResult)) throw notFound('This call has no chunks.')
    if (polls < 3) throw new Refusal(400, 'NOT_READY', 'The chunks are still being made.')
    const pieces = piecesOf(outcome.text)
    const at = cursor === null ? 0 : pieces.findIndex((_, index) => cursor === `piece-${index}`)
    const data = pieces[at]
    if (data === undefined) throw new Refusal(400, 'INVALID_CURSOR', 'This cursor is not one of ours.')
    const size = (text: string) => (this.#defect === 'utf16-offsets' ? text.length : Buffer.byteLength(text))
    const last = at === pieces.length - 1
    const chunk = {
      offset: size(pieces.slice(0, at).join('')),
      length: size(data),
      checksum: sha256(data),
      checksumPrevious: at === 0 ? null : sha256(pieces[at - 1] ?? ''),
    }
    const state = last ? 'complete' : 'pending'
    const session = sessionId !== undefined && { sessionId }
    const body = {
      requestId,
      ...session,
      state,
      mimeType: 'text/csv',
      cursor: last ? null : `piece-${at + 1}`,
      chunk,
      data,
    }
    return { status: 200, body: { ...body, total: size(outcome.text) } }
  }
}

function runSafely(operation: ReferenceOperation, ran: Ran): unknown {
  try {
    return operation.run(ran)
  } catch (thrown) {
    if (thrown instanceof DomainFailure) return thrown
    throw thrown
  }
}

function registry({ headers }: IncomingMessage): Answer {
  const document = { callVersion: '2026-02-10', operations: referenceOperations.map(({ entry }) => entry) }
  const etag = `"${sha256(JSON.stringify(document)).slice(7, 27)}"`
  const caching = { etag, 'cache-control': 'public, max-age=60' }
  if (headers['if-none-match'] === etag) return { status: 304, headers: caching, body: undefined }
  return { status: 200, headers: caching, body: document }
}

const MODIFIED = 'Fri, 02 Jan 2026 10:00:00 GMT'

function serveFile({ headers }: IncomingMessage, { type, bytes }: FileResult): Answer {
  const etag = `"${sha256(bytes).slice(7, 27)}"`
  const base = { etag, 'last-modified': MODIFIED, 'cache-control': 'private, max-age=60', 'accept-ranges': 'bytes' }
  const fresh = headers['if-none-match'] ? headers['if-none-match'] === etag : headers['if-modified-since'] === MODIFIED
  if (fresh) return { status: 304, headers: base, body: undefined }
  const typed = { ...base, 'content-type': type }
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
  if (from === undefined) return { status: 200, headers: typed, body: bytes }
  const start = from === '' ? bytes.length - Number(to) : Number(from)
  const end = from === '' || to === '' ? bytes.length - 1 : Math.min(Number(to), bytes.length - 1)
  if (start > end)
    return { status: 416, headers: { ...base, 'content-range': `bytes */${bytes.length}` }, body: undefined }
  const range = { 'content-range': `bytes ${start}-${end}/${bytes.length}` }
  return { status: 206, headers: { ...typed, ...range }, body: bytes.subarray(start, end + 1) }
}

function unknownOperation(op: string, ids: Refusal['details']): Refusal {
  const replacement = REMOVED[op]
  if (replacement === undefined) return new Refusal(400, 'UNKNOWN_OP', `There is no operation ${op}.`, ids)
  const cause = { removedOp: op, replacement }
  return new Refusal(410, 'OP_REMOVED', `${op} was removed; use ${replacement}.`, { ...ids, cause })
}

function allow({ method }: IncomingMessage, allowed: string, message: string): void {
  if (method !== allowed) throw new Refusal(405, 'METHOD_NOT_ALLOWED', message, { headers: { allow: allowed } })
}

function notFound(message: string): Refusal {
  return new Refusal(404, 'NOT_FOUND', message)
}

/** Chunks of about a kilobyte, cut between characters. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const character of text) {
    piece += character
    if (piece.length >= 1_000) pieces.push(piece)
    if (piece.length >= 1_000) piece = ''
  }
  return piece === '' ? pieces : [...pieces, piece]
}

function sha256(data: string | Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`
}
