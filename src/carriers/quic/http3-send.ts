/** Writes a response to an HTTP/3 stream. It also handles unread request bodies and clients that leave. */
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Http3Exchange } from './http3-exchange.ts'
import type { FieldMap } from './library.ts'
import { CODE, drained } from './stall.ts'

// A named import of node:http also evaluates its `WebSocket` and loads all of undici.
const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http')

export interface SendSettings {
  readonly stallTimeoutMs: number
  readonly log: Log | undefined
}

/** How much of an unread body is discarded, and for how long, so that the client can read the response first. */
const LINGER_BYTES = 64 << 20
const LINGER_MS = 500

/** Up to this size, head and body leave in one step. */
const MAX_AT_ONCE = 64 * 1024

const NOTHING = Buffer.alloc(0)

/** RFC 9114, "HTTP Message Framing": these fields make a response malformed. */
const FORBIDDEN: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

/** Throws if the headers cannot be sent. Then nothing has been sent yet. */
export function send(exchange: Http3Exchange, answer: Answer, extra: readonly string[], settings: SendSettings): void {
  const { stream } = exchange
  const { body } = answer
  if (stream.destroyed) {
    if (isIterable(body)) abandon(body[Symbol.asyncIterator](), settings.log)
    return
  }
  const bodiless = answer.status === 204 || answer.status === 304
  if (isIterable(body)) {
    const fields = encodeFields(answer, undefined, extra)
    const iterator = body[Symbol.asyncIterator]()
    if (exchange.method !== 'HEAD' && !bodiless) return void pump(exchange, fields, iterator, settings)
    abandon(iterator, settings.log)
    stream.respondWithBody(fields, NOTHING)
  } else {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body === undefined ? NOTHING : Buffer.from(body)
    const fields = encodeFields(answer, bodiless ? undefined : bytes.length, extra)
    if (exchange.method === 'HEAD' || bodiless || bytes.length === 0) stream.respondWithBody(fields, NOTHING)
    else if (bytes.length <= MAX_AT_ONCE) stream.respondWithBody(fields, bytes)
    else return void pump(exchange, fields, slices(bytes), settings)
  }
  finish(exchange)
}

function isIterable(body: Answer['body']): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

function encodeFields({ status, headers }: Answer, length: number | undefined, extra: readonly string[]): FieldMap {
  const fields: FieldMap = { ':status': String(status) }
  const add = (name: string, value: string) => {
    const lower = name.toLowerCase()
    if (FORBIDDEN.has(lower) || (length !== undefined && lower === 'content-length')) return
    validateHeaderName(name)
    validateHeaderValue(name, value)
    const before = fields[lower]
    fields[lower] = before === undefined ? value : [...[before].flat(), value]
  }
  for (const name in headers) add(name, headers[name] as string)
  for (let at = 0; at + 1 < extra.length; at += 2) add(extra[at] as string, extra[at + 1] as string)
  if (length !== undefined) fields['content-length'] = String(length)
  return fields
}

async function* slices(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MAX_AT_ONCE) yield bytes.subarray(at, at + MAX_AT_ONCE)
}

async function pump(
  exchange: Http3Exchange,
  fields: FieldMap,
  iterator: AsyncIterator<Uint8Array | string>,
  { stallTimeoutMs, log }: SendSettings,
): Promise<void> {
  const { stream } = exchange
  const left = () => abandon(iterator, log)
  stream.once('close', left)
  const stated = fields['content-length'] === undefined ? undefined : Number(fields['content-length'])
  let sent = 0
  try {
    stream.respond(fields)
    for (;;) {
      const step = await iterator.next()
      if (stream.destroyed) return
      if (step.done) break
      const bytes = Buffer.from(step.value as Uint8Array)
      sent += bytes.length
      if (stated !== undefined && sent > stated) throw wrongLength(stated, sent)
      if (bytes.length > 0 && !stream.write(bytes)) await drained(stream, stallTimeoutMs)
    }
    if (stated !== undefined && sent !== stated) throw wrongLength(stated, sent)
    stream.off('close', left)
    stream.end()
    finish(exchange)
  } catch (err) {
    if (stream.destroyed) return
    // The head has been sent, so only a reset can show that the response is incomplete.
    log?.error({ err }, 'a response failed while it was being sent')
    stream.close(CODE.internalError)
  }
}

function wrongLength(stated: number, sent: number): Error {
  return new Error(`The source of a response returned ${sent} bytes instead of the stated ${stated}.`)
}

/** The response is complete. A request body that is still arriving is discarded for a moment, then refused. */
function finish({ stream, inbox }: Http3Exchange): void {
  if (inbox.hasEnded) return
  const close = () => {
    clearTimeout(timer)
    if (!inbox.hasEnded && !stream.destroyed) stream.close(CODE.noError)
  }
  const timer = setTimeout(close, LINGER_MS)
  inbox.discard(LINGER_BYTES, close)
}

function abandon(iterator: AsyncIterator<unknown>, log: Log | undefined): void {
  Promise.resolve(iterator.return?.()).catch((error: unknown) => {
    log?.warn({ err: error }, 'could not close the source of a response')
  })
}
