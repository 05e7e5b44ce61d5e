/** One unary call on an HTTP/2 stream: reads the message, calls the method, and responds with a message or a status. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { UnaryMethods } from '../../core/ports/unary.ts'
import { encodeFrame } from '../../wire/grpc/framing.ts'
import { encodeGrpcMessage, GRPC_CODES, type GrpcCode, parseGrpcTimeout } from '../../wire/grpc/headers.ts'
import { clientGone } from '../../wire/http/body-faults.ts'
import { type ReadMessage, tooSlow } from './reading.ts'
import { codeOf } from './statuses.ts'

const MAX_MESSAGE = 1_000
/** A client that times out resets its stream slightly before this server's own timer ends. */
const EARLY_RESET_MS = 100
/** The longest delay that a timer accepts. */
const MAX_TIMER_MS = 2_147_483_647

export interface ExchangeSettings {
  methods: UnaryMethods
  maxBytes: number
  /** Time limit for reading one message. */
  readMs: number
  read: ReadMessage
  log: Log
}

/** Settles after the response, or when the stream has closed. Never rejects. */
export async function answerStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { methods, maxBytes, readMs, read, log }: ExchangeSettings,
): Promise<void> {
  const contentType = headers['content-type'] ?? ''
  if (!/^application\/grpc(?:$|[+;])/.test(contentType)) {
    stream.respond({ ':status': 415 }, { endStream: true })
    stopReading(stream)
    return
  }
  const ending = new AbortController()
  const deadlineMs = parseGrpcTimeout(String(headers['grpc-timeout'] ?? ''))
  const timer = deadlineMs === undefined ? undefined : setTimeout(expire, Math.min(deadlineMs, MAX_TIMER_MS))
  const expiresAt = performance.now() + (deadlineMs ?? Number.POSITIVE_INFINITY)
  const gone = () => (performance.now() + EARLY_RESET_MS < expiresAt ? ending.abort(clientGone()) : expire())
  function expire() {
    const fault = new Fault('timeout', 'The time limit of the client has passed.', {
      details: { timeout_ms: deadlineMs ?? 0 },
    })
    ending.abort(fault)
  }
  const late = setTimeout(() => ending.abort(tooSlow(readMs)), readMs)
  stream.once('close', gone)
  // A reset by the client is not a server error. A `close` event follows.
  stream.on('error', (err) => log.debug({ err }, 'a gRPC stream failed'))
  try {
    const method = methodFor(headers, contentType, methods)
    const text = await unlessEnded(read(stream, maxBytes), ending.signal)
    clearTimeout(late)
    const header = (name: string) => single(headers[name])
    const call = { header, text, signal: ending.signal, ...(deadlineMs !== undefined && { deadlineMs }) }
    respond(stream, 'OK', await unlessEnded(method(call), ending.signal))
  } catch (thrown) {
    const fault = Fault.from(thrown, 'The request failed; the server log has the reason.')
    if (fault.kind === 'internal') log.error({ err: fault.cause ?? fault }, 'a gRPC request failed')
    refuse(stream, codeFor(fault), fault)
  } finally {
    clearTimeout(timer)
    clearTimeout(late)
    stream.off('close', gone)
  }
}

function methodFor(headers: IncomingHttpHeaders, contentType: string, methods: UnaryMethods) {
  const method = headers[':method'] === 'POST' ? methods.get(headers[':path'] ?? '') : undefined
  if (!method) throw unimplemented(`There is no method ${headers[':path']?.slice(0, 200)} here.`)
  // Without a subtype, some clients mean protobuf and others mean an agreed format. The message is read as JSON.
  if (!/^application\/grpc(?:\+json)?(?:$|;)/.test(contentType)) {
    throw unimplemented(`Messages are JSON here. Send application/grpc+json, not ${contentType.slice(0, 100)}.`)
  }
  const encoding = single(headers['grpc-encoding'])
  if (encoding !== undefined && encoding !== 'identity') throw unimplemented('Send messages uncompressed.')
  return method
}

const UNIMPLEMENTED = 'UNIMPLEMENTED'

function unimplemented(message: string): Fault {
  return new Fault('unknown-operation', message, { code: UNIMPLEMENTED })
}

function codeFor(fault: Fault): GrpcCode {
  return fault.code === UNIMPLEMENTED ? UNIMPLEMENTED : codeOf(fault)
}

/** Resolves to the promise's value, or rejects with the reason of the abort. */
function unlessEnded<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

function respond(stream: ServerHttp2Stream, code: GrpcCode, text: string): void {
  if (!isOpen(stream)) return
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(GRPC_CODES.indexOf(code)) }))
  stream.end(encodeFrame(text))
}

/** "Trailers-Only": the status is in the headers, and there is no message. */
function refuse(stream: ServerHttp2Stream, code: GrpcCode, { message, retryAfterMs }: Fault): void {
  if (!isOpen(stream)) return
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc+json',
    'grpc-status': String(GRPC_CODES.indexOf(code)),
    'grpc-message': encodeGrpcMessage(message.slice(0, MAX_MESSAGE)),
    ...(retryAfterMs !== undefined && { 'grpc-retry-pushback-ms': String(Math.ceil(retryAfterMs)) }),
  }
  stream.respond(headers, { endStream: true })
  stopReading(stream)
}

/** Discards further data of the client. Otherwise the client would wait for flow control and keep the stream open. */
function stopReading(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(0)
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.headersSent
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
