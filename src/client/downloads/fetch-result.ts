/** Fetches what a server names as the address of a result. Every redirect is checked as a new address. */
import { unsafe } from '../addresses.ts'
import { CallFault } from '../fault.ts'
import { type Requests, redirectOf } from '../http/requests.ts'
import { isPrivateHost } from '../private-hosts.ts'
import type { Fetcher, FetchInit } from '../transport.ts'

const MAX_REDIRECTS = 5

export class ResultFetcher implements Fetcher {
  readonly #requests: Requests

  readonly base: string

  constructor(requests: Requests) {
    this.#requests = requests
    this.base = requests.addresses.base
  }

  /** A server in a private network may name its neighbours. A public one may not. */
  resolve(uri: string): URL {
    const { addresses } = this.#requests
    const address = addresses.resolve(uri)
    if (
      isPrivateHost(address.hostname) &&
      !addresses.isTrusted(address) &&
      !isPrivateHost(new URL(addresses.base).hostname)
    )
      throw unsafe(`${address.host} is a private address. Add it to "trustedOrigins" if it is right`)
    return address
  }

  token(address: URL): Promise<string | undefined> {
    return this.#requests.token(address)
  }

  async fetch(address: URL, init: FetchInit): Promise<Response> {
    let at = address
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      // A credential for one address is not one for the next.
      const sent = redirects === 0 ? init : { ...init, authorization: undefined }
      const response = await this.#requests.send(at, sent)
      // A browser hides the target of a redirect, but can follow it. It takes the token off for another origin.
      if (response.type === 'opaqueredirect') return this.#requests.send(at, { ...sent, redirect: 'follow' })
      const location = redirectOf(response)
      if (location === undefined) return response
      await response.body?.cancel()
      at = this.resolve(new URL(location, at).href)
    }
    throw new CallFault('TOO_MANY_REDIRECTS', `The result redirects more than ${MAX_REDIRECTS} times.`, {
      outcome: 'failed',
    })
  }
}
