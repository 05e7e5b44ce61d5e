/** A Fetch request as the exchange that protocols use. */
import type { Exchange, Part, PartLimits } from '../../core/ports/exchange.ts'
import { withoutBasePath } from '../../wire/http/base-path.ts'
import { clientGone } from '../../wire/http/body-faults.ts'
import { readPacedParts, type UploadPace } from '../../wire/http/paced-parts.ts'
import { isHostHeader } from '../../wire/http/site-rules.ts'
import { BodyPuller, readText } from './body.ts'

export interface ExchangeSettings extends UploadPace {
  readonly publicUrl: string | undefined
  readonly basePath: string | undefined
}

export class FetchExchange implements Exchange {
  readonly request: Request
  readonly method: string
  /** Empty if the request is not below the prefix. */
  readonly path: string
  readonly query: string
  readonly #prefix: string
  readonly #site: string
  readonly #settings: ExchangeSettings
  #controller: AbortController | undefined

  constructor(request: Request, prefix: string, settings: ExchangeSettings) {
    this.request = request
    this.method = request.method
    this.#prefix = prefix.replace(/\/+$/, '')
    this.#settings = settings
    // The host has already parsed the request's absolute URL. Splitting it is cheaper than parsing it again.
    const [, site = '', path = '', query = ''] =
      /^([a-z][\w+.-]*:\/\/[^/?#]*)([^?#]*)\??([^#]*)/i.exec(request.url) ?? []
    this.#site = site
    this.query = query
    const { basePath } = settings
    this.path = below(this.#prefix, basePath === undefined ? path : withoutBasePath(path, basePath))
  }

  /**
   * Some hosts do not pass `Host` on. The URL contains the same value. No response is compressed here: Next.js removes
   * `Content-Encoding` from responses, and other hosts compress responses themselves.
   */
  header(name: string): string | undefined {
    if (name === 'accept-encoding') return undefined
    const value = this.request.headers.get(name)
    if (value !== null) return value
    return name === 'host' ? this.#site.slice(this.#site.indexOf('://') + 3) : undefined
  }

  headers(): Iterable<readonly [string, string]> {
    return this.request.headers
  }

  get origin(): string {
    const { publicUrl, basePath = '' } = this.#settings
    return publicUrl ?? this.#clientSite() + basePath + this.#prefix
  }

  /** Next.js puts its own host name into the URL. The client reached the host of its `Host` header. */
  #clientSite(): string {
    const host = this.request.headers.get('host')
    if (host === null || !isHostHeader(host)) return this.#site
    return this.#site.slice(0, this.#site.indexOf('://') + 3) + host
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      const { signal } = this.request
      if (signal.aborted) this.leave()
      else signal.addEventListener('abort', () => this.leave(), { once: true })
    }
    return this.#controller.signal
  }

  /** The client does not want the rest of the response. */
  leave(): void {
    this.#controller?.abort(clientGone())
  }

  text(maxBytes: number): Promise<string> {
    return readText(this.request, maxBytes, this.#settings.bodyTimeoutMs)
  }

  async *parts(limits: PartLimits): AsyncIterable<Part> {
    const puller = new BodyPuller(this.request)
    try {
      const contentType = this.header('content-type') ?? ''
      yield* readPacedParts(contentType, (waitMs) => puller.next(waitMs), limits, this.#settings)
    } finally {
      puller.release()
    }
  }
}

function below(prefix: string, path: string): string {
  if (prefix === '') return path
  if (!path.startsWith(prefix)) return ''
  const rest = path.slice(prefix.length)
  // The mount point itself is the root. `/apis` is not below `/api`.
  return rest === '' || rest.startsWith('/') ? rest || '/' : ''
}
