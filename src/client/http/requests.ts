/** Single requests with the caller's token. It goes to trusted origins only, and is renewed once after a 401. */
import { type Addresses, brief } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import type { HttpOptions } from '../options.ts'
import type { FetchInit } from '../transport.ts'

type RequestOptions = Pick<HttpOptions, 'token' | 'headers' | 'fetch'>

export class Requests {
  readonly addresses: Addresses
  readonly #options: RequestOptions

  constructor(addresses: Addresses, options: RequestOptions) {
    this.addresses = addresses
    this.#options = options
  }

  /** The caller's token, if it may go to this address. */
  async token(address: URL): Promise<string | undefined> {
    const { token } = this.#options
    if (!this.addresses.isTrusted(address)) return undefined
    return typeof token === 'function' ? token() : token
  }

  /** A redirect is returned as it came. */
  async send(address: URL, init: FetchInit): Promise<Response> {
    const isTrusted = this.addresses.isTrusted(address)
    const { token: source } = this.#options
    const isAsked = source !== undefined && init.authorization === undefined
    const token = isAsked ? await this.token(address) : undefined
    const response = await this.#send(address.href, isTrusted, init, token)
    if (response.status !== 401 || token === undefined || typeof source !== 'function') return response
    const renewed = await source(token)
    // A stream that was sent cannot be sent again.
    if (renewed === undefined || renewed === token || init.body instanceof ReadableStream) return response
    await response.body?.cancel()
    return this.#send(address.href, isTrusted, init, renewed)
  }

  async #send(
    href: string,
    isTrusted: boolean,
    { method, headers, body, signal, authorization, redirect = 'manual' }: FetchInit,
    token: string | undefined,
  ): Promise<Response> {
    const sent: Record<string, string> = { ...(isTrusted && this.#options.headers), ...headers }
    const credential = authorization ?? (token && `Bearer ${token}`)
    if (credential !== undefined) sent.authorization = credential
    const init = { method, headers: sent, body, signal, redirect, duplex: 'half' } as RequestInit
    try {
      // Browsers refuse a `fetch` that is called as a method of another object.
      const { fetch = globalThis.fetch } = this.#options
      return await fetch(href, init)
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
  const message = `${brief(new URL(href).origin)} did not respond: ${reason}. Check the address.`
  return new CallFault('UNREACHABLE', message, { cause: thrown })
}

/** `undefined` if the response is no redirect. */
export function redirectOf({ status, headers }: Response): string | undefined {
  return status > 300 && status < 309 && status !== 304 ? (headers.get('location') ?? undefined) : undefined
}
