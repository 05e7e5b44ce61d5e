/**
 * The only outgoing HTTP client. It checks the URL of a target, connects only to checked addresses, separates
 * connections by the rule that they were opened under, and asks for uncompressed content. Its users define the error
 * messages, read the responses and decide which hosts are allowed. Built on node:http, because the global `fetch`
 * cannot be bound to a checked address and costs more per request.
 */
import { lookup as lookupName } from 'node:dns/promises'
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { Fault } from '../../core/fault.ts'
import type { RemoteAddress } from '../../core/ports/outbound.ts'
import { mayConnectTo } from './addresses.ts'

export type Resolve = (hostname: string) => Promise<readonly RemoteAddress[]>

export interface GuardOptions {
  /** Resolves host names (default: the system's resolver). */
  resolve?: Resolve | undefined
  /**
   * How long an unused connection is kept. Shorter than the five seconds after which many servers close it: if a
   * request were sent on a closing connection, it would be unknown whether the server received it.
   */
  keepAliveMs?: number | undefined
  /** Maximum connections per host. Further requests wait. Streams are not counted. */
  maxConnections?: number | undefined
}

/** The faults that each kind of user throws for a refused target. */
export interface Refusals {
  notAbsolute(): Fault
  scheme(protocol: string): Fault
  userInfo(): Fault
  address(host: string): Fault
}

/** A checked URL, with the rule that it was checked under. */
export interface Target {
  readonly url: URL
  readonly host: string
  readonly allowPrivate: boolean
}

export interface Outgoing {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /**
   * `kept`: reuses a connection if there is one. `stream`: also kept, but not counted, because it may stay busy for
   * hours. `own`: a new connection that is not kept.
   */
  readonly connection: 'kept' | 'stream' | 'own'
  readonly signal?: AbortSignal
}

interface Route {
  request: typeof import('node:http').request
  lookup: LookupFunction
  kept: Agent
  stream: Agent
}

const MAX_HEADER_BYTES = 16 * 1024

export class GuardedHttp {
  readonly #options: GuardOptions
  readonly #refusals: Refusals
  readonly #resolve: Resolve
  readonly #routes = new Map<string, Route>()

  constructor(refusals: Refusals, options: GuardOptions = {}) {
    this.#refusals = refusals
    this.#options = options
    this.#resolve = options.resolve ?? ((hostname) => lookupName(hostname, { all: true }))
  }

  /** Throws a fault if the URL itself is not allowed. */
  target(text: string, allowPrivate: boolean): Target {
    const url = URL.parse(text)
    if (!url) throw this.#refusals.notAbsolute()
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw this.#refusals.scheme(url.protocol)
    if (url.username !== '' || url.password !== '') throw this.#refusals.userInfo()
    const host = bareHost(url)
    // A literal address is never looked up, so it is checked here.
    if (isIP(host) !== 0 && !mayConnectTo(host, allowPrivate)) throw this.#refusals.address(host)
    return { url, host, allowPrivate }
  }

  /** Resolves a host under the same rules, for users with their own connections. */
  async lookup(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]> {
    const family = isIP(hostname)
    const addresses = family === 0 ? await this.#resolve(hostname) : [{ address: hostname, family }]
    // One refused address is enough, because it is not known which one a connection would use.
    if (addresses.every(({ address }) => mayConnectTo(address, allowPrivate))) return addresses
    throw this.#refusals.address(hostname)
  }

  /** Does not follow redirects: the target of a redirect must be checked as a new target. */
  start({ url, host, allowPrivate }: Target, { method, headers, body, connection, signal }: Outgoing): ClientRequest {
    const route = this.#routeFor(url.protocol, allowPrivate)
    const request = begin(route, {
      method,
      host,
      port: url.port,
      path: url.pathname + url.search,
      headers: {
        Host: url.host,
        'User-Agent': 'callplane',
        'Accept-Encoding': 'identity',
        ...headers,
        ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
      },
      agent: connection === 'own' ? false : route[connection],
      lookup: route.lookup,
      maxHeaderSize: MAX_HEADER_BYTES,
      ...(signal && { signal }),
    })
    request.end(body)
    return request
  }

  /** Closes the kept connections and aborts running requests. */
  close(): void {
    for (const { kept, stream } of this.#routes.values()) for (const agent of [kept, stream]) agent.destroy()
    this.#routes.clear()
  }

  /** A connection that was opened under one rule is not reused under another. */
  #routeFor(scheme: string, allowPrivate: boolean): Route {
    const key = allowPrivate ? `private ${scheme}` : scheme
    const known = this.#routes.get(key)
    if (known) return known
    // Loaded on demand, and not with a named import: see carriers/http/server.ts.
    const { Agent, request } = process.getBuiltinModule(scheme === 'https:' ? 'node:https' : 'node:http')
    const { keepAliveMs = 4_000, maxConnections = 256 } = this.#options
    const lookup = this.#checkedLookup(allowPrivate)
    const common = { keepAlive: true, timeout: keepAliveMs, lookup }
    const kept = new Agent({ ...common, maxSockets: maxConnections })
    const route: Route = { request, lookup, kept, stream: new Agent(common) }
    this.#routes.set(key, route)
    return route
  }

  /** For Node's sockets: connects to the checked address, even if the name resolves to another one a moment later. */
  #checkedLookup(allowPrivate: boolean): LookupFunction {
    return (hostname, { all }, callback) => {
      this.lookup(hostname, allowPrivate).then(
        (addresses) => {
          const first = addresses[0]
          if (!first) callback(new Error(`${hostname} has no address`), '')
          else if (all) callback(null, [...addresses])
          else callback(null, first.address, first.family)
        },
        (error: NodeJS.ErrnoException) => callback(error, ''),
      )
    }
  }
}

function begin({ request }: Route, options: RequestOptions): ClientRequest {
  try {
    return request(options)
  } catch (cause) {
    throw new Fault(
      'upstream',
      'A header for the tool contains an invalid character. Check its secret and its "headers".',
      {
        code: 'UNSENDABLE',
        retryable: false,
        cause,
      },
    )
  }
}

/** As the URL parser writes it (so `0x7f.1` is `127.0.0.1`), without brackets and without a final dot. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** The size that the response declares; 0 if it declares none. */
export function declaredBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

/** True if the response is compressed although the request asked for plain content. */
export function isEncoded({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
}

/** The error code of a failed connection. Not its message, which may contain the whole address. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
