/** A node:http request as the exchange that protocols use. Rarely used values are computed on demand. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Exchange, Part, PartLimits } from '../../core/ports/exchange.ts'
import { clientGone } from '../../wire/http/body-faults.ts'
import type { UploadPace } from '../../wire/http/paced-parts.ts'
import { type BodyHolder, type Incoming, readText } from './body.ts'
import { readParts } from './parts.ts'
import { originOf, targetOf } from './request-target.ts'

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
    const { path, query } = targetOf(request, settings.basePath)
    this.path = path
    this.query = query
  }

  header(name: string): string | undefined {
    return this.#headers[name] as string | undefined
  }

  *headers(): Iterable<readonly [string, string]> {
    const { rawHeaders } = this.request
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at] as string, rawHeaders[at + 1] as string]
  }

  get origin(): string {
    return originOf(this.request, this.#settings)
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

function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const check = () => {
    if (!response.writableFinished) controller.abort(clientGone())
  }
  if (response.closed) check()
  else response.once('close', check)
  return controller.signal
}
