/** Calls over HTTP: `POST /call`, then long polls of `GET /ops/{id}`. OpenCALL, "HTTP Binding". */
import { Addresses, brief, unsafe } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import type { Envelope, HttpOptions, MediaInput, OutgoingCall } from '../options.ts'
import type { Fetcher, FetchInit, Received, Transport } from '../transport.ts'
import { readEnvelope } from './envelope.ts'
import { Requests, redirectOf } from './requests.ts'

/** How long a poll waits at the server. */
const WAIT_SECONDS = 25
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

/** Encodes a call that has media. Absent in the small client. */
export type EncodeUpload = (
  call: OutgoingCall,
  envelope: object,
  media: Readonly<Record<string, MediaInput | undefined>>,
) => FetchInit

/** What the full client adds. */
export interface HttpFeatures {
  readonly encodeUpload: EncodeUpload
  createFetcher(requests: Requests): Fetcher
  watch(fetcher: Fetcher, requestId: string, signal: AbortSignal | undefined): AsyncIterable<Envelope>
}

export class HttpTransport implements Transport {
  readonly fetcher?: Fetcher
  readonly watch?: NonNullable<Transport['watch']>
  readonly #closing = new AbortController()
  readonly closing: AbortSignal = this.#closing.signal
  readonly #requests: Requests
  readonly #calls: URL
  readonly #maxBytes: number
  readonly #encodeUpload: EncodeUpload | undefined

  constructor(options: HttpOptions, features?: HttpFeatures) {
    this.#requests = new Requests(new Addresses(options.url, options.trustedOrigins), options)
    this.#calls = this.#place('/call')
    this.#maxBytes = options.maxResponseBytes ?? MAX_RESPONSE_BYTES
    this.#encodeUpload = features?.encodeUpload
    if (!features) return
    const fetcher = features.createFetcher(this.#requests)
    this.fetcher = fetcher
    this.watch = (requestId, signal) => features.watch(fetcher, requestId, signal)
  }

  send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    const envelope = { op: call.operation, args: call.args, ctx: call.context }
    const { headers, body } =
      call.media && this.#encodeUpload
        ? this.#encodeUpload(call, envelope, call.media)
        : { headers: JSON_TYPE, body: JSON.stringify(envelope) }
    const init: FetchInit = { method: 'POST', headers: { ...headers, ...call.headers }, body, signal }
    return this.#receive(this.#calls, init, call.context.requestId)
  }

  next({ requestId, location }: Envelope, signal: AbortSignal | undefined): Promise<Received> {
    const { addresses } = this.#requests
    const address = location ? addresses.resolve(location.uri) : this.#callPlace(requestId)
    if (!addresses.isTrusted(address)) throw unsafe(`${address.host} is not in "trustedOrigins"`)
    return this.#receive(address, { headers: { prefer: `wait=${WAIT_SECONDS}` }, signal }, requestId)
  }

  poll(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#receive(this.#callPlace(requestId), { signal }, requestId)
  }

  cancel(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#receive(this.#callPlace(requestId), { method: 'DELETE', signal }, requestId)
  }

  close(): void {
    this.#closing.abort()
  }

  #place(path: string): URL {
    return new URL(this.#requests.addresses.base + path)
  }

  #callPlace(requestId: string): URL {
    return this.#place(`/ops/${encodeURIComponent(requestId)}`)
  }

  async #receive(address: URL, init: FetchInit, requestId: string): Promise<Received> {
    const response = await this.#requests.send(address, init)
    const { status, headers, type } = response
    // A browser shows neither the target nor the body of a redirect. A poll is redirected to the same place.
    const redirect = type === 'opaqueredirect' ? this.#callPlace(requestId).href : redirectOf(response)
    if (redirect !== undefined) {
      await response.body?.cancel()
      if (status !== 303 && status !== 0) throw moved(redirect, status)
      return { envelope: { requestId, state: 'complete', location: { uri: new URL(redirect, address).href } }, status }
    }
    const envelope = await readEnvelope(response, this.#maxBytes, init.signal)
    if (envelope.state === 'complete') return { envelope, status, headers }
    return { envelope, status, headers, retryAfterMs: envelope.retryAfterMs ?? retryAfter(headers.get('retry-after')) }
  }
}

function moved(redirect: string, status: number): CallFault {
  return new CallFault('NOT_OPENCALL', `The server is at ${brief(redirect)} now. Use that address.`, {
    outcome: 'refused',
    status,
  })
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Seconds or a date. RFC 9110, section 10.2.3. */
export function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
