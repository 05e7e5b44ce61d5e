/**
 * Upgrades requests to another protocol on the same socket, such as WebSocket. A claim handles the requests for its
 * path, under the same rules for hosts and origins. The listener handles every request that is not claimed or breaks a
 * rule, as if it had no upgrade.
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
  /** The value of the `Upgrade` header, such as `websocket`. */
  protocol: string
  /** Responds on the socket and keeps the socket. `head` is the data that the client has already sent. */
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
    // Without a listener, a connection error would end the process.
    socket.on('error', (err) => log?.debug({ err }, 'an upgraded connection failed'))
    // Node versions without `shouldUpgradeCallback` pass every upgrade request to this handler.
    if (!this.accepts(request)) return void socket.end(NOT_UPGRADED, () => socket.destroy())
    try {
      this.#claimOf(request)?.take(request, socket, head)
    } catch (err) {
      log?.error({ err, path: pathOf(request) }, 'an upgrade failed')
      socket.destroy()
    }
  }

  /** Closes the remaining upgraded connections. Node does not count them as its own. */
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
  'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 132\r\n\r\n' +
  '{"error":{"code":"INVALID_REQUEST","message":"This path does not support the upgrade; send the request without an Upgrade header."}}'

function pathOf({ url = '' }: IncomingMessage): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
