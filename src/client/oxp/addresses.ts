/**
 * Which addresses a server may name in a challenge, and which of them get the credential. A server can name any
 * address, and it must not reach a script of the page or a private network through the client.
 */
import { isPrivateHost } from '../private-hosts.ts'
import { OxpError } from './error.ts'

export class Addresses {
  /** Without a slash at the end. */
  readonly base: string
  readonly #trusted: ReadonlySet<string>
  readonly #isPrivate: boolean

  constructor(url: string | URL, trustedOrigins: readonly string[] = []) {
    const own = URL.parse(String(url))
    if (!own || !isWeb(own)) {
      throw new TypeError(`"${url}" is not the address of a server. Write it as https://tools.example.com.`)
    }
    this.base = own.origin + own.pathname.replace(/\/+$/, '')
    this.#trusted = new Set([own.origin, ...trustedOrigins.map((origin) => new URL(origin).origin)])
    this.#isPrivate = isPrivateHost(own.hostname)
  }

  /** The page for a person. */
  shown(text: string): string {
    const address = URL.parse(text, `${this.base}/`)
    if (address && isWeb(address)) return address.href
    throw unsafe(text, 'it is not an address of the web')
  }

  /** An address that the client itself fetches. */
  fetched(text: string): string {
    const address = new URL(this.shown(text))
    if (address.username !== '' || address.password !== '') throw unsafe(text, 'it contains a password')
    if (!this.#isPrivate && isPrivateHost(address.hostname) && !this.isTrusted(address)) {
      throw unsafe(text, 'it is a private address. Add its origin to "trustedOrigins" if it is right')
    }
    return address.href
  }

  /** True if the credential may go there. */
  isTrusted(address: string | URL): boolean {
    return this.#trusted.has(new URL(address).origin)
  }
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:'
}

function unsafe(text: string, why: string): OxpError {
  return new OxpError(`The server names the address "${text.slice(0, 100)}" in a challenge, and ${why}.`, {
    code: 'UNSAFE_CHALLENGE',
    outcome: 'refused',
  })
}
