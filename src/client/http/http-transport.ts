/** Calls over HTTP: `POST /call`, then long polls of `GET /ops/{id}`. OpenCALL, "HTTP Binding". */
import { type Addresses, brief } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import type { ClientOptions, Envelope, MediaInput, OutgoingCall } from '../options.ts'
import type { FetchInit, Received, Transport } from '../transport.ts'
import { readEnvelope } from './envelope.ts'
import { HttpFetcher, redirectOf } from './fetcher.ts'

/** How long a poll waits at the server. */
const WAIT_SECONDS = 25
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

/** Encodes a call that has media. Absent in the small client. */
export type EncodeUpload = (
  call: OutgoingCall,
  envelope: object,
  media: Readonly<Record<string, MediaInput | undefined>>,
) => FetchInit

export class HttpTransport implements Transport {
  readonly fetcher: HttpFetcher
  readonly #addresses: Addresses
  readonly #base: string
  readonly #maxBytes: number
  readonly #encodeUpload: EncodeUpload | undefined

  constructor(addresses: Addresses, options: ClientOptions, encodeUpload?: EncodeUpload) {
    this.fetcher = new HttpFetcher(addresses, options)
    this.#addresses = addresses
    this.#base = addresses.base
    this.#maxBytes = options.maxResponseBytes ?? MAX_RESPONSE_BYTES
    this.#encodeUpload = encodeUpload
  }

  async send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    const envelope = { op: call.operation, args: call.args, ctx: call.context }
    const { headers, body } =
      call.media && this.#encodeUpload
        ? this.#encodeUpload(call, envelope, call.media)
        : { headers: JSON_TYPE, body: JSON.stringify(envelope) }
    return this.#receive(
      new URL(`${this.#base}/call`),
      { method: 'POST', headers: { ...headers, ...call.headers }, ...(body !== undefined && { body }), signal },
      call.context.requestId,
    )
  }

  next({ requestId, location }: Envelope, signal: AbortSignal | undefined): Promise<Received> {
    const address = location ? this.fetcher.resolve(location.uri) : this.#place(requestId)
    return this.#receive(address, { headers: { prefer: `wait=${WAIT_SECONDS}` }, signal }, requestId)
  }

  poll(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#receive(this.#place(requestId), { signal }, requestId)
  }

  cancel(requestId: string, signal: AbortSignal | undefined): Promise<Received> {
    return this.#receive(this.#place(requestId), { method: 'DELETE', signal }, requestId)
  }

  close(): void {}

  #place(requestId: string): URL {
    return new URL(`${this.#base}/ops/${encodeURIComponent(requestId)}`)
  }

  async #receive(address: URL, init: FetchInit, requestId: string): Promise<Received> {
    const response = await this.fetcher.request(address.href, this.#addresses.isTrusted(address), init)
    const { status, headers, type } = response
    if (type === 'opaqueredirect') {
      // A browser shows neither the address nor the body of a redirect. A poll is redirected to the same place.
      const bytes = await this.fetcher.followed(this.#place(requestId).href, init.signal)
      return { envelope: { requestId, state: 'complete' }, bytes }
    }
    const redirect = redirectOf(response)
    if (redirect !== undefined) {
      await response.body?.cancel()
      if (status !== 303) throw moved(redirect, status)
      const uri = new URL(redirect, address).href
      return { envelope: { requestId, state: 'complete', location: { uri } }, status }
    }
    const envelope = await readEnvelope(response, this.#maxBytes, init.signal)
    const retryAfterMs = envelope.retryAfterMs ?? retryAfter(headers.get('retry-after'))
    return { envelope, status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
}

function moved(redirect: string, status: number): CallFault {
  return new CallFault(`The server has moved to ${brief(redirect)}. Create the client with that address.`, {
    code: 'NOT_OPENCALL',
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
