/** Requests with the caller's token. It goes to trusted origins only, and is renewed once after a 401. */
import { type Addresses, brief } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import type { ClientOptions } from '../options.ts'
import type { Fetcher, FetchInit } from '../transport.ts'

const MAX_REDIRECTS = 5

type FetcherOptions = Pick<ClientOptions, 'token' | 'headers' | 'fetch'>

export class HttpFetcher implements Fetcher {
  readonly #addresses: Addresses
  readonly #options: FetcherOptions
  readonly #fetch: typeof globalThis.fetch

  constructor(addresses: Addresses, options: FetcherOptions) {
    this.#addresses = addresses
    this.#options = options
    // Browsers refuse a `fetch` that is called as a method of another object.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  resolve(uri: string): URL {
    return this.#addresses.resolve(uri)
  }

  /** Follows redirects of a GET, each checked as a new address. */
  async fetch(address: URL, init: FetchInit = {}): Promise<Response> {
    let at = address
    for (let redirects = 0; ; redirects++) {
      const response = await this.request(
        at.href,
        this.#addresses.isTrusted(at),
        redirects === 0 ? init : { ...(init.signal && { signal: init.signal }) },
      )
      const location = redirectOf(response)
      if (response.type === 'opaqueredirect') return this.followed(at.href, init.signal)
      if (location === undefined) return response
      await response.body?.cancel()
      if (redirects === MAX_REDIRECTS)
        throw new CallFault(`The address of the result redirects more than ${MAX_REDIRECTS} times.`, {
          code: 'TOO_MANY_REDIRECTS',
          outcome: 'unknown',
        })
      at = this.resolve(new URL(location, at).href)
    }
  }

  /** One request. A redirect is returned as it came. */
  async request(href: string, isTrusted: boolean, init: FetchInit): Promise<Response> {
    const source = this.#options.token
    if (!isTrusted || source === undefined || init.authorization !== undefined)
      return this.#send(href, isTrusted, init, undefined)
    const token = typeof source === 'string' ? source : await source()
    const response = await this.#send(href, true, init, token)
    if (response.status !== 401 || typeof source === 'string' || init.body instanceof ReadableStream) return response
    const renewed = await source(token)
    if (renewed === undefined || renewed === token) return response
    await response.body?.cancel()
    return this.#send(href, true, init, renewed)
  }

  /** A browser hides the target of a redirect, but can follow it. It takes the token off for another origin. */
  async followed(href: string, signal: AbortSignal | undefined): Promise<Response> {
    const source = this.#options.token
    const token = typeof source === 'function' ? await source() : source
    return this.#send(href, true, { signal }, token, 'follow')
  }

  async #send(
    href: string,
    isTrusted: boolean,
    { method, headers, body, signal, authorization }: FetchInit,
    token: string | undefined,
    redirect: 'manual' | 'follow' = 'manual',
  ): Promise<Response> {
    const sent: Record<string, string> = { ...(isTrusted && this.#options.headers), ...headers }
    const credential = authorization ?? (token === undefined ? undefined : `Bearer ${token}`)
    if (credential !== undefined) sent.authorization = credential
    try {
      return await this.#fetch(href, {
        redirect,
        headers: sent,
        ...(method !== undefined && { method }),
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
        // A stream as a body can be sent only this way.
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      })
    } catch (thrown) {
      throw lost(thrown, signal, href)
    }
  }
}

/** A failure of the network, or the reason why the caller's signal ended the request. */
export function lost(thrown: unknown, signal: AbortSignal | undefined, href: string): unknown {
  if (signal?.aborted) return signal.reason
  if (thrown instanceof CallFault) return thrown
  const reason = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause.message : String(thrown)
  return new CallFault(
    `${brief(new URL(href).origin)} did not respond: ${reason}. Check the address and the network.`,
    {
      code: 'UNREACHABLE',
      outcome: 'unknown',
      cause: thrown,
    },
  )
}

/** `undefined` if the response is no redirect. */
export function redirectOf(response: Response): string | undefined {
  if (response.status < 301 || response.status > 308 || response.status === 304) return undefined
  return response.headers.get('location') ?? undefined
}
