/** Sends one request and records it. Files are sent by XMLHttpRequest, the only way that tells how much has left. */
import type { Server } from '../../api/server.ts'
import type { WireRequest, WireResponse } from '../wires/wire.ts'
import { cut, type Exchange, type Header, maskedBody, maskedHeaders } from './exchange.ts'

export interface Sending {
  signal: AbortSignal
  /** Told each time the record changes. */
  onExchange(exchange: Exchange): void
  onSent?(bytes: number, total: number): void
  onReceived?(bytes: number, total: number | undefined): void
}

/** A response. Bytes come instead of text if the server redirected to a file. */
export interface Received extends WireResponse {
  file?: Blob
}

export async function send(server: Server, request: WireRequest, sending: Sending, form?: FormData): Promise<Received> {
  const token = await server.session.token()
  const sent: Header[] = [
    ...Object.entries(form ? {} : request.headers),
    ...(form ? [['Content-Type', 'multipart/form-data'] as const] : []),
    ...(token === undefined ? [] : [['Authorization', `Bearer ${token}`] as const]),
  ]
  const record = new Recording(
    {
      method: request.method,
      path: request.path,
      headers: maskedHeaders(sent),
      ...(request.body !== undefined && { body: cut(request.body) }),
      startedAt: performance.now(),
    },
    sending.onExchange,
  )
  try {
    return await (form ? upload(server, request, form, sending, record) : transfer(server, request, sending, record))
  } catch (thrown) {
    record.set({ endedAt: performance.now(), problem: thrown instanceof Error ? thrown.message : String(thrown) })
    throw thrown
  }
}

class Recording {
  #exchange: Exchange
  readonly #tell: (exchange: Exchange) => void

  constructor(exchange: Exchange, tell: (exchange: Exchange) => void) {
    this.#exchange = exchange
    this.#tell = tell
    tell(exchange)
  }

  set(changes: Partial<Exchange>): void {
    this.#exchange = { ...this.#exchange, ...changes }
    this.#tell(this.#exchange)
  }

  response(status: number, headers: Iterable<Header>, bytes: number, text?: string): void {
    const body = text === undefined ? {} : { body: cut(maskedBody(text.slice(0, 512 * 1024))) }
    if (body.body && text !== undefined) body.body.length = text.length
    this.set({ response: { status, headers: maskedHeaders(headers), bytes, ...body } })
  }
}

async function transfer(
  server: Server,
  { method, path, headers, body }: WireRequest,
  { signal, onReceived }: Sending,
  record: Recording,
): Promise<Received> {
  const init = { method, headers: { ...headers }, signal, ...(body !== undefined && { body }) }
  const response = await server.fetch(`/${path}`, init)
  record.set({ firstByteAt: performance.now() })
  const { status } = response
  record.response(status, response.headers, 0)
  const total = Number(response.headers.get('content-length') ?? Number.NaN)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for await (const piece of piecesOf(response)) {
    pieces.push(piece)
    bytes += piece.length
    onReceived?.(bytes, Number.isNaN(total) ? undefined : total)
  }
  const whole = new Blob(pieces, { type: response.headers.get('content-type') ?? '' })
  // A call whose result is a file may redirect to it.
  const isFile = response.redirected && !/json/.test(whole.type)
  const text = isFile ? '' : await whole.text()
  record.response(status, response.headers, bytes, isFile ? undefined : text)
  record.set({ endedAt: performance.now() })
  return { status, text, header: (name) => response.headers.get(name), ...(isFile && { file: whole }) }
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || !value) return
    yield value
  }
}

/** A session that has ended is renewed before the next request; a file is not sent twice. */
async function upload(
  server: Server,
  { method, path }: WireRequest,
  form: FormData,
  { signal, onSent }: Sending,
  record: Recording,
): Promise<Received> {
  const token = await server.session.token()
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.open(method, `${server.base}/${path}`)
    if (token !== undefined) request.setRequestHeader('authorization', `Bearer ${token}`)
    request.upload.onprogress = ({ loaded, total }) => onSent?.(loaded, total)
    request.onreadystatechange = () => {
      if (request.readyState === XMLHttpRequest.HEADERS_RECEIVED) record.set({ firstByteAt: performance.now() })
    }
    request.onabort = () => reject(signal.reason)
    request.onerror = () => reject(new TypeError('The connection to the server broke while the file was sent.'))
    request.onload = () => {
      const { status, responseText: text } = request
      const headers = request
        .getAllResponseHeaders()
        .split('\r\n')
        .filter(Boolean)
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const)
      record.response(status, headers, new Blob([text]).size, text)
      record.set({ endedAt: performance.now() })
      resolve({ status, text, header: (name) => request.getResponseHeader(name) })
    }
    request.send(form)
  })
}
