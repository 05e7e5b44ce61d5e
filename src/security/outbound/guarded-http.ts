/**
 * The one way out over HTTP. It judges a target by its URL, connects to checked addresses only, keeps connections apart
 * by the rule they were opened under, and asks for plain content. What a refusal says, how an answer is read and who
 * may be asked at all is for its users. Built on node:http, because the global `fetch` cannot be held to a checked
 * address and costs more for each request.
 */
import { lookup as lookupName } from 'node:dns/promises'
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { Fault } from '../../core/fault.ts'
import type { RemoteAddress } from '../../core/ports/outbound.ts'
import { mayConnectTo } from './addresses.ts'

export type Resolve = (hostname: string) => Promise<readonly RemoteAddress[]>

export interface GuardOptions {
  /** How names become addresses (default: the system's way). */
  resolve?: Resolve | undefined
  /**
   * How long an unused connection is kept. Shorter than the five seconds after which many servers close it: a request
   * must not go out on a connection that is being closed, because nobody could tell whether it was taken.
   */
  keepAliveMs?: number | undefined
  /** Connections to one host at a time; more requests than that wait for one. Streams are not counted. */
  maxConnections?: number | undefined
}

/** What each kind of user says when it refuses a target. */
export interface Refusals {
  notAbsolute(): Fault
  scheme(protocol: string): Fault
  userInfo(): Fault
  address(host: string): Fault
}

/** A URL that was judged, with the rule that it was judged by. */
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
   * `kept`: one that others used before, if there is one. `stream`: kept as well, and not counted, because it may stay
   * busy for hours. `own`: a new one that is not kept.
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

  /** Throws a refusal if the URL itself shows that it must not be asked. */
  target(text: string, allowPrivate: boolean): Target {
    const url = URL.parse(text)
    if (!url) throw this.#refusals.notAbsolute()
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw this.#refusals.scheme(url.protocol)
    if (url.username !== '' || url.password !== '') throw this.#refusals.userInfo()
    const host = bareHost(url)
    // A literal address is never looked up, so it is judged here.
    if (isIP(host) !== 0 && !mayConnectTo(host, allowPrivate)) throw this.#refusals.address(host)
    return { url, host, allowPrivate }
  }

  /** For those with connections of their own: where a host is, under the same rules. */
  async lookup(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]> {
    const family = isIP(hostname)
    const addresses = family === 0 ? await this.#resolve(hostname) : [{ address: hostname, family }]
    // One bad address is enough: which one a connection would take is chance.
    if (addresses.every(({ address }) => mayConnectTo(address, allowPrivate))) return addresses
    throw this.#refusals.address(hostname)
  }

  /** Redirects are not followed: where one leads is a target of its own. */
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

  /** Closes what is kept; requests under way are cut off. */
  close(): void {
    for (const { kept, stream } of this.#routes.values()) for (const agent of [kept, stream]) agent.destroy()
    this.#routes.clear()
  }

  /** A connection that was opened under one rule is not used under another. */
  #routeFor(scheme: string, allowPrivate: boolean): Route {
    const key = allowPrivate ? `private ${scheme}` : scheme
    const known = this.#routes.get(key)
    if (known) return known
    // Asked for when needed, and not imported by name: see carriers/http/server.ts.
    const { Agent, request } = process.getBuiltinModule(scheme === 'https:' ? 'node:https' : 'node:http')
    const { keepAliveMs = 4_000, maxConnections = 256 } = this.#options
    const lookup = this.#checkedLookup(allowPrivate)
    const common = { keepAlive: true, timeout: keepAliveMs, lookup }
    const kept = new Agent({ ...common, maxSockets: maxConnections })
    const route: Route = { request, lookup, kept, stream: new Agent(common) }
    this.#routes.set(key, route)
    return route
  }

  /** For node's sockets: the connection goes to what was checked, whatever the name resolves to a moment later. */
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
    throw new Fault('upstream', 'A header for the tool holds what no header may. Check its secret and its "headers".', {
      code: 'UNSENDABLE',
      retryable: false,
      cause,
    })
  }
}

/** As the URL parser writes it (so `0x7f.1` is `127.0.0.1`), without brackets and without a final dot. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** What the answer says of its size; 0 if it says nothing. */
export function declaredBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

/** Compressed although it was asked not to be. */
export function isEncoded({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
}

/** What a failed connection is called, without the text of its error, which may have the whole address in it. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
