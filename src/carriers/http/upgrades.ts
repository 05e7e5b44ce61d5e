/**
 * Requests that leave HTTP for another protocol on the same socket, such as WebSocket. A claim takes the requests for
 * its path; the rules for hosts and origins hold for them as for any other. The listener answers every request that
 * is not claimed or that breaks a rule, as if it had asked for no upgrade.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Log } from '../../core/ports/runtime.ts'
import { withoutBasePath } from '../../wire/http/base-path.ts'
import { repeatedHeader } from '../../wire/http/single-headers.ts'
import { createSiteRules, type SiteOptions, type SiteRules } from '../../wire/http/site-rules.ts'

export interface UpgradeClaim {
  /** Without the base path, such as `/call`. */
  path: string
  /** As the `Upgrade` header names it, such as `websocket`. */
  protocol: string
  /** Answers the request on the socket and keeps the socket. `head` is what the client has sent since. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

export interface UpgradeOptions extends SiteOptions {
  basePath?: string
  log?: Log
}

export class Upgrades {
  readonly #claims: readonly UpgradeClaim[]
  readonly #options: UpgradeOptions
  readonly #rules: SiteRules | undefined
  readonly #sockets = new Set<Duplex>()

  constructor(claims: readonly UpgradeClaim[], options: UpgradeOptions) {
    this.#claims = claims
    this.#options = options
    this.#rules = createSiteRules(options)
  }

  accepts(request: IncomingMessage): boolean {
    if (!this.#claimOf(request) || repeatedHeader(request.rawHeaders)) return false
    const { method = '', headers, socket } = request
    const header = (name: string) => headers[name] as string | undefined
    return this.#rules?.objection({ method, header }, socket.remoteAddress) === undefined
  }

  take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { log } = this.#options
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // Without a listener a broken connection would end the process.
    socket.on('error', (err) => log?.debug({ err }, 'an upgraded connection broke'))
    // Node versions without `shouldUpgradeCallback` hand over every request that asks for an upgrade.
    if (!this.accepts(request)) return void socket.end(NOT_UPGRADED, () => socket.destroy())
    try {
      this.#claimOf(request)?.take(request, socket, head)
    } catch (err) {
      log?.error({ err, path: pathOf(request) }, 'an upgrade failed')
      socket.destroy()
    }
  }

  /** Cuts the connections that are left. Node does not count them among its own. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #claimOf(request: IncomingMessage): UpgradeClaim | undefined {
    const { basePath } = this.#options
    const path = basePath === undefined ? pathOf(request) : withoutBasePath(pathOf(request), basePath)
    const wanted = request.headers.upgrade?.toLowerCase()
    return this.#claims.find((claim) => claim.path === path && claim.protocol.toLowerCase() === wanted)
  }
}

const NOT_UPGRADED =
  'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 107\r\n\r\n' +
  '{"error":{"code":"INVALID_REQUEST","message":"There is no such upgrade here; send it without an Upgrade."}}'

function pathOf({ url = '' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
