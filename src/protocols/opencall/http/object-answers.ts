/** `/objects/{id}`: raw bytes with ranges and conditional requests (RFC 9110, sections 13 and 14). */
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import type { ObjectInfo } from '../../../core/ports/objects.ts'
import { jsonAnswer } from './answers.ts'

interface Range {
  start: number
  end: number
}

export function objectAnswer(
  exchange: Exchange,
  info: ObjectInfo,
  read: (range?: Range) => AsyncIterable<Uint8Array>,
  newId: () => string,
): Answer {
  const etag = `"${info.sha256}"`
  const lastModified = new Date(Math.floor(info.createdAt / 1000) * 1000)
  const headers: Record<string, string> = {
    'Content-Type': info.mimeType,
    ETag: etag,
    'Last-Modified': lastModified.toUTCString(),
    // Objects never change. `private`, because each request checks the owner.
    'Cache-Control': 'private, max-age=3600, immutable',
    'Accept-Ranges': 'bytes',
    // A browser must not show an operation's bytes as a page of this origin.
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ...(info.filename !== undefined && { 'Content-Disposition': disposition(info.filename) }),
  }
  if (failsPrecondition(exchange, etag, lastModified)) return preconditionFailed(newId(), etag)
  if (isUnchanged(exchange, etag, lastModified)) return { status: 304, headers }
  const range = rangeFor(exchange, etag, lastModified, info.bytes)
  if (range === 'unsatisfiable') return outOfRange(newId(), info.bytes)
  if (!range) return { status: 200, headers: { ...headers, 'Content-Length': String(info.bytes) }, body: read() }
  const { start, end } = range
  return {
    status: 206,
    headers: {
      ...headers,
      'Content-Range': `bytes ${start}-${end - 1}/${info.bytes}`,
      'Content-Length': String(end - start),
    },
    body: read(range),
  }
}

/** OpenCALL, "HTTP Status Code Semantics", forbids a response without information, so 412 and 416 have a body. */
function preconditionFailed(requestId: string, etag: string): Answer {
  const message =
    'The object does not match the condition of the request. Leave the condition out to get the current object.'
  const error = { code: 'PRECONDITION_FAILED', message, cause: { etag } }
  return jsonAnswer(412, { requestId, state: 'error', error })
}

function outOfRange(requestId: string, bytes: number): Answer {
  const message = `The range starts after the end of the object, which has ${bytes} bytes. Request a range within it.`
  const error = { code: 'RANGE_NOT_SATISFIABLE', message, cause: { bytes } }
  return jsonAnswer(416, { requestId, state: 'error', error }, { 'Content-Range': `bytes */${bytes}` })
}

function failsPrecondition(exchange: Exchange, etag: string, lastModified: Date): boolean {
  const ifMatch = exchange.header('if-match')
  if (ifMatch !== undefined) return ifMatch.trim() !== '*' && !ifMatch.split(',').some((tag) => tag.trim() === etag)
  const unmodifiedSince = Date.parse(exchange.header('if-unmodified-since') ?? '')
  return unmodifiedSince < lastModified.getTime()
}

function isUnchanged(exchange: Exchange, etag: string, lastModified: Date): boolean {
  const ifNoneMatch = exchange.header('if-none-match')
  if (ifNoneMatch !== undefined) {
    return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  }
  return Date.parse(exchange.header('if-modified-since') ?? '') >= lastModified.getTime()
}

/** Supports one range. A request with several ranges gets the whole object, which RFC 9110 allows. */
function rangeFor(
  exchange: Exchange,
  etag: string,
  lastModified: Date,
  bytes: number,
): Range | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec((exchange.header('range') ?? '').trim())
  if (!match || exchange.method !== 'GET') return undefined
  const ifRange = exchange.header('if-range')
  if (ifRange !== undefined && ifRange !== etag && Date.parse(ifRange) !== lastModified.getTime()) return undefined
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), bytes)
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes }
  }
  const start = Number(first)
  const end = last === '' ? bytes : Math.min(Number(last) + 1, bytes)
  if (last !== '' && Number(last) < start) return undefined
  return start >= bytes ? 'unsatisfiable' : { start, end }
}

function disposition(filename: string): string {
  return `attachment; filename*=UTF-8''${encodeURIComponent(filename)}`
}
