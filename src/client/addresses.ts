/**
 * Where a client may go, and where its token may go. A server can name any address: the token is sent to the server's
 * own origin and to trusted ones only. docs/readings.md#r45.
 */
import { CallFault } from './fault.ts'

export class Addresses {
  /** Without a slash at the end. */
  readonly base: string
  readonly #trusted: ReadonlySet<string>

  constructor(url: string | URL, trustedOrigins: readonly string[] = []) {
    this.base = new URL(url).href.replace(/[?#].*$/, '').replace(/\/+$/, '')
    this.#trusted = new Set([url, ...trustedOrigins].map((origin) => httpOrigin(new URL(origin))))
  }

  /** Throws `UNSAFE_LOCATION` for a scheme that is not of the web. */
  resolve(uri: string): URL {
    const address = URL.parse(uri, `${this.base}/`)
    if (address && /^(?:http|ws)s?:$/.test(address.protocol)) return address
    throw unsafe(`"${brief(uri)}" is not an address of the web`)
  }

  isTrusted(address: URL): boolean {
    return this.#trusted.has(httpOrigin(address))
  }
}

/** A WebSocket has the origin of the page of its server. */
function httpOrigin({ protocol, host }: URL): string {
  return `${protocol.replace('ws', 'http')}//${host}`
}

export function unsafe(why: string): CallFault {
  return new CallFault('UNSAFE_LOCATION', `The client does not follow the server: ${why}.`)
}

export function brief(text: string): string {
  return text.slice(0, 100)
}
