/** A node:http request as the exchange that protocols use. Rarely used values are computed on demand. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Exchange, Part, PartLimits } from '../../core/ports/exchange.ts'
import { withoutBasePath } from '../../wire/http/base-path.ts'
import { clientGone } from '../../wire/http/body-faults.ts'
import type { UploadPace } from '../../wire/http/paced-parts.ts'
import { isHostHeader } from '../../wire/http/site-rules.ts'
import { type BodyHolder, type Incoming, readText } from './body.ts'
import { readParts } from './parts.ts'

export interface ExchangeSettings extends UploadPace {
  readonly publicUrl: string | undefined
  readonly basePath: string | undefined
}

export class NodeExchange implements Exchange, BodyHolder {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly request: Incoming
  readonly response: ServerResponse
  bodyTaken = false
  readonly #settings: ExchangeSettings
  /** Cached: each request reads about a dozen headers, and Node's getter builds its list again each time. */
  readonly #headers: IncomingHttpHeaders
  #signal: AbortSignal | undefined

  constructor(request: Incoming, response: ServerResponse, settings: ExchangeSettings) {
    this.request = request
    this.response = response
    this.#settings = settings
    this.#headers = request.headers
    this.method = request.method ?? ''
    const target = originForm(request.url ?? '')
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    this.path = settings.basePath === undefined ? path : withoutBasePath(path, settings.basePath)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
  }

  header(name: string): string | undefined {
    return this.#headers[name] as string | undefined
  }

  *headers(): Iterable<readonly [string, string]> {
    const { rawHeaders } = this.request
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at] as string, rawHeaders[at + 1] as string]
  }

  get origin(): string {
    const { publicUrl, basePath } = this.#settings
    if (publicUrl !== undefined) return publicUrl
    const { socket, headers } = this.request
    const scheme = (socket as TLSSocket).encrypted ? 'https' : 'http'
    // Express removes the mount path from `url` and keeps it in `baseUrl`. Links need it.
    const mount = basePath ?? (this.request as { baseUrl?: string }).baseUrl ?? ''
    if (headers.host !== undefined && isHostHeader(headers.host)) return `${scheme}://${headers.host}${mount}`
    const address = socket.localAddress ?? 'localhost'
    return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}${mount}`
  }

  get signal(): AbortSignal {
    this.#signal ??= disconnectSignal(this.response)
    return this.#signal
  }

  text(maxBytes: number): string | Promise<string> {
    return readText(this, maxBytes, this.#settings.bodyTimeoutMs)
  }

  parts(limits: PartLimits): AsyncIterable<Part> {
    return readParts(this, limits, this.#settings)
  }
}

/** RFC 9112, "absolute-form": a server must accept it. The host name in it is not used. */
function originForm(target: string): string {
  if (target.charCodeAt(0) === 0x2f) return target
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)
  if (!authority) return target
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const check = () => {
    if (!response.writableFinished) controller.abort(clientGone())
  }
  if (response.closed) check()
  else response.once('close', check)
  return controller.signal
}
