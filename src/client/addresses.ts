/**
 * Where a client may go, and where its token may go. A server can name any address for a result or a stream: the token
 * is sent to the server's own origin and to trusted ones only, and a public server cannot send the client into its
 * private network.
 */
import { CallFault } from './fault.ts'

export class Addresses {
  /** Without a slash at the end. */
  readonly base: string
  readonly #trusted: ReadonlySet<string>
  readonly #isPrivate: boolean

  constructor(url: string | URL, trustedOrigins: readonly string[] = []) {
    const own = new URL(url)
    this.base = own.href.replace(/[?#].*$/, '').replace(/\/+$/, '')
    this.#trusted = new Set([own, ...trustedOrigins].map((origin) => httpOrigin(new URL(origin))))
    this.#isPrivate = isPrivate(own.hostname)
  }

  /** Throws `UNSAFE_LOCATION` for a scheme or a place that no result can be at. */
  resolve(uri: string): URL {
    const address = URL.parse(uri, `${this.base}/`)
    if (!address || !/^(?:https?|wss?):$/.test(address.protocol))
      throw unsafe(`"${brief(uri)}" is not an address of the web`)
    if (!this.#isPrivate && isPrivate(address.hostname) && !this.isTrusted(address))
      throw unsafe(`the server names the private address ${address.host}. Add it to "trustedOrigins" if that is right`)
    return address
  }

  isTrusted(address: URL): boolean {
    return this.#trusted.has(httpOrigin(address))
  }
}

/** A WebSocket has the origin of the page of its server. */
function httpOrigin({ protocol, host }: URL): string {
  return `${protocol.replace(/^ws/, 'http')}//${host}`
}

/** By its spelling. Names that resolve to a private address are not recognised: a browser cannot look them up. */
function isPrivate(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (/(?:^|\.)(?:localhost|local|internal)$/.test(host)) return true
  if (host.includes(':')) return /^(?:::1?$|::ffff:|f[cd]|fe[89ab])/.test(host)
  const [a, b] = host.split('.').map(Number) as [number, number]
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(host)) return false
  return (
    a === 10 ||
    a === 127 ||
    a === 0 ||
    (a === 169 && b === 254) ||
    (a === 172 && b >> 4 === 1) ||
    (a === 192 && b === 168) ||
    (a === 100 && b >> 6 === 1)
  )
}

function unsafe(why: string): CallFault {
  return new CallFault(`The address of the result was not followed: ${why}.`, {
    code: 'UNSAFE_LOCATION',
    outcome: 'unknown',
  })
}

export function brief(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
