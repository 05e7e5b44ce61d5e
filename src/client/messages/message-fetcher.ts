/**
 * Results in chunks as messages: `v1:getChunk` replaces the address. Results at other addresses need HTTP.
 */
import { unsafe } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import type { Envelope } from '../options.ts'
import type { Fetcher, FetchInit } from '../transport.ts'
import { statusIn } from './envelopes.ts'

/** Sends a built-in operation, and resolves with its reply. */
export type AskBuiltIn = (
  operation: string,
  args: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
) => Promise<Envelope>

const CHUNKS = /\/ops\/([^/]+)\/chunks$/

export class MessageFetcher implements Fetcher {
  readonly #ask: AskBuiltIn
  readonly #http: Fetcher | undefined

  constructor(ask: AskBuiltIn, http: Fetcher | undefined) {
    this.#ask = ask
    this.#http = http
  }

  get base(): string {
    return this.#http?.base ?? ''
  }

  resolve(uri: string): URL {
    if (this.#http) return this.#http.resolve(uri)
    const address = URL.parse(uri)
    if (address && /^https?:$/.test(address.protocol)) return address
    throw unsafe(`"${uri.slice(0, 100)}" is not an address of the web`)
  }

  async token(address: URL): Promise<string | undefined> {
    return this.#http?.token(address)
  }

  async fetch(address: URL, init: FetchInit): Promise<Response> {
    const [, id] = CHUNKS.exec(address.pathname) ?? []
    if (id !== undefined) return this.#chunk(decodeURIComponent(id), address.searchParams.get('cursor'), init.signal)
    if (this.#http) return this.#http.fetch(address, init)
    throw new CallFault(
      'RESULT_UNREADABLE',
      'It is at an HTTP address. Give the transport the address of the server in "http".',
      { outcome: 'failed' },
    )
  }

  async #chunk(requestId: string, cursor: string | null, signal: AbortSignal | undefined): Promise<Response> {
    const envelope = await this.#ask('v1:getChunk', { requestId, ...(cursor !== null && { cursor }) }, signal)
    if (envelope.state === 'complete') return Response.json(envelope.result)
    return Response.json(envelope, { status: statusIn(envelope) ?? 404 })
  }
}
