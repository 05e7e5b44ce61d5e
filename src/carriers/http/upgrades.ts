/**
 * Upgrades requests to another protocol on the same socket, such as WebSocket. A claim handles the requests for its
 * path, under the same rules for hosts and origins. In a server of our own, the listener handles every request that is
 * not claimed or breaks a rule, as if it had no upgrade.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Fault } from '../../core/fault.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { createPathMatcher } from '../../wire/http/route-table.ts'
import type { ServedRequest } from '../../wire/http/served-request.ts'
import { repeatedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions, type SiteRules } from '../../wire/http/site-rules.ts'
import { originOf, targetOf } from './request-target.ts'
import { respond } from './socket-answer.ts'

export interface UpgradeClaim {
  /** Without the base path, such as `/call` or `/streams/{id}`. */
  path: string
  /** The value of the `Upgrade` header, such as `websocket`. */
  protocol: string
  /** Responds on the socket and keeps the socket. `head` is the data that the client has already sent. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer, upgrade: UpgradeFacts): void
}

/** An upgrade request, as the server understands it. */
export interface UpgradeFacts {
  /** The values of `{name}` in the path. */
  readonly params: Readonly<Record<string, string>>
  /** Without the question mark. */
  readonly query: string
  /** `http://host:port` as the client reached the server. */
  readonly origin: string
  /** Sends an error response instead of the upgrade, with these further headers, and closes the socket. */
  refuse(fault: Fault, headers?: Readonly<Record<string, string>>): void
}

export interface UpgradeOptions extends SiteOptions {
  basePath?: string
  log?: Log
  /** Builds the error response of a refused upgrade. Default: without a body. */
  refuse?(request: Pick<Exchange, 'method' | 'path'>, fault: Fault): Answer
  /** Called once for each request that a claim has handled: when it is refused, or when its connection closes. */
  served?(request: ServedRequest): void
}

interface Found {
  claim: UpgradeClaim
  params: Readonly<Record<string, string>>
}

export class Upgrades {
  readonly #claims: readonly { claim: UpgradeClaim; match: ReturnType<typeof createPathMatcher> }[]
  readonly #options: UpgradeOptions
  readonly #rules: SiteRules | undefined
  readonly #sockets = new Set<Duplex>()
  /** Shared by all sockets, because there may be thousands. */
  readonly #forget: (this: Duplex) => void
  readonly #logError: (err: Error) => void

  constructor(claims: readonly UpgradeClaim[], options: UpgradeOptions) {
    this.#claims = claims.map((claim) => ({ claim, match: createPathMatcher(claim.path) }))
    this.#options = options
    this.#rules = createSiteRules(options)
    const sockets = this.#sockets
    this.#forget = function (this: Duplex) {
      sockets.delete(this)
    }
    this.#logError = (err) => options.log?.debug({ err }, 'an upgraded connection failed')
  }

  /** True if a claim handles the request and it breaks no rule. */
  accepts(request: IncomingMessage): boolean {
    return this.#find(request) !== undefined && this.#objection(request) === undefined
  }

  /** For a server of our own. Responds to every request. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Node versions without `shouldUpgradeCallback` pass every upgrade request to this handler.
    if (this.accepts(request)) this.offer(request, socket, head)
    else {
      this.#keep(socket)
      this.#refusing(request, socket)(notUpgraded())
    }
  }

  /** For a server of the application. Returns false if no claim handles the request. Then the socket is untouched. */
  offer(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const found = this.#find(request)
    if (!found) return false
    const { log } = this.#options
    this.#keep(socket)
    const refuse = this.#refusing(request, socket)
    const objection = this.#objection(request)
    if (objection) {
      refuse(objection)
      return true
    }
    const { basePath } = this.#options
    const { path, query } = targetOf(request, basePath)
    try {
      const { params, claim } = found
      claim.take(request, socket, head, { params, query, origin: originOf(request, this.#options), refuse })
    } catch (err) {
      log?.error({ err, path }, 'an upgrade failed')
      socket.destroy()
    }
    return true
  }

  /** Closes the remaining upgraded connections. Node does not count them as its own. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket)
    // Without a listener, a connection error would end the process.
    socket.on('close', this.#forget).on('error', this.#logError)
  }

  #objection(request: IncomingMessage): Fault | undefined {
    const { method = '', headers, socket, rawHeaders } = request
    const header = (name: string) => headers[name] as string | undefined
    return repeatedHeader(rawHeaders) ?? this.#rules?.objection({ method, header }, socket.remoteAddress)
  }

  /** Returns a function that refuses the request. Reports the request when it is over. */
  #refusing(request: IncomingMessage, socket: Duplex): UpgradeFacts['refuse'] {
    const { basePath, served } = this.#options
    const { method = '', url: target = '' } = request
    const startedAt = performance.now()
    let status: number = SWITCHED
    if (served) socket.once('close', () => served({ method, target, status, startedAt, finished: true }))
    return (fault, headers = {}) => {
      const answer =
        this.#options.refuse?.({ method, path: targetOf(request, basePath).path }, fault) ?? plainRefusal(fault)
      status = answer.status
      respond(socket, { ...answer, headers: { ...answer.headers, ...headers } })
    }
  }

  #find(request: IncomingMessage): Found | undefined {
    const { path } = targetOf(request, this.#options.basePath)
    const wanted = request.headers.upgrade?.toLowerCase()
    for (const { claim, match } of this.#claims) {
      if (claim.protocol.toLowerCase() !== wanted) continue
      const params = paramsIn(match, path)
      if (params) return { claim, params }
    }
    return undefined
  }
}

/** A malformed escape matches no claim. */
function paramsIn(match: ReturnType<typeof createPathMatcher>, path: string) {
  try {
    return match(path)
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined
    throw thrown
  }
}

const SWITCHED = 101

/** For a server without a protocol that builds error responses. */
function plainRefusal({ kind }: Fault): Answer {
  return { status: kind === 'malformed' ? 400 : 403, headers: {} }
}

function notUpgraded(): Fault {
  return new Fault('malformed', 'This path does not support the upgrade; send the request without an Upgrade header.')
}
