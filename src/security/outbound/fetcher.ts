/**
 * The only client that fetches URLs named by callers. It goes only where the rules allow, connects to checked
 * addresses, and limits size and time. It uses no proxy, stores no cookies and sends no credentials.
 */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import { declaredBytes, errorCode, GuardedHttp, isEncoded, type Target } from './guarded-http.ts'
import { createHostRules, type OutboundRules, referenceRefusals, refused } from './rules.ts'

export interface FetcherOptions extends OutboundRules {
  /** How long the other side may send nothing: before its response starts, and between two chunks. */
  timeoutMs?: number
  /** Total time limit of one fetch. */
  totalTimeoutMs?: number
  maxRedirects?: number
}

export function createFetcher(options: FetcherOptions = {}): Fetcher {
  const { timeoutMs = 10_000, totalTimeoutMs = 600_000, maxRedirects = 3 } = options
  const guard = new GuardedHttp(referenceRefusals, { resolve: options.resolve })
  const checkHost = createHostRules(options)
  const judge = (uri: string) => {
    const target = guard.target(uri, options.allowPrivate ?? false)
    checkHost(target)
    return target
  }
  const limits = { timeoutMs, totalTimeoutMs, maxRedirects }
  const start = (uri: string, signal: AbortSignal) => new Fetch(uri, { guard, judge, limits }, signal)
  return {
    async probe(uri, signal) {
      const fetch = start(uri, signal)
      try {
        const head = await fetch.send('HEAD', {})
        if (isSuccess(head)) return describe(head, head.headers['content-length'])
        // Not every server supports HEAD, and a URL that is pre-signed for GET allows only GET.
        const first = await fetch.send('GET', { Range: 'bytes=0-0' })
        const total = /\/(\d+)$/.exec(first.headers['content-range'] ?? '')?.[1]
        if (first.statusCode === 206 || (first.statusCode === 416 && total === '0')) return describe(first, total)
        if (isSuccess(first)) return describe(first, first.headers['content-length'])
        throw fetch.unexpected(first)
      } catch (error) {
        throw fetch.explain(error)
      } finally {
        fetch.end()
      }
    },
    async *open(uri, maxBytes, signal) {
      const fetch = start(uri, signal)
      try {
        const response = await fetch.send('GET', {})
        if (response.statusCode !== 200 || isEncoded(response)) throw fetch.unexpected(response)
        if (declaredBytes(response) > maxBytes) throw tooLarge(maxBytes)
        let total = 0
        fetch.waiting(true)
        for await (const chunk of response as AsyncIterable<Buffer>) {
          fetch.waiting(false)
          total += chunk.length
          if (total > maxBytes) throw tooLarge(maxBytes)
          yield chunk
          fetch.waiting(true)
        }
      } catch (error) {
        throw fetch.explain(error)
      } finally {
        fetch.end()
      }
    },
  }
}

interface FetchParts {
  guard: GuardedHttp
  /** Throws a fault if the rules do not allow the reference. */
  judge(uri: string): Target
  limits: FetchLimits
}

interface FetchLimits {
  timeoutMs: number
  totalTimeoutMs: number
  maxRedirects: number
}

/** One fetch, including redirects: its timers, its caller's signal and its fault. */
class Fetch {
  readonly #parts: FetchParts
  readonly #signal: AbortSignal
  readonly #stop = new AbortController()
  readonly #total: NodeJS.Timeout
  #silence: NodeJS.Timeout | undefined
  #response: IncomingMessage | undefined
  #target: Target

  constructor(uri: string, parts: FetchParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
    this.#target = parts.judge(uri)
    this.#total = setTimeout(() => this.#stop.abort(), parts.limits.totalTimeoutMs)
  }

  /** Follows redirects. Each target is checked like the first one. */
  async send(method: 'GET' | 'HEAD', headers: Record<string, string>): Promise<IncomingMessage> {
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#sendOnce(method, headers)
      const { location } = response.headers
      const status = response.statusCode ?? 0
      if (location === undefined || ![301, 302, 303, 307, 308].includes(status)) return response
      if (redirects === this.#parts.limits.maxRedirects) {
        throw refused(`The reference redirects more than ${redirects} times; name its final address.`)
      }
      const next = URL.parse(location, this.#target.url.href)
      if (!next) throw refused('The reference redirects to an invalid URL.')
      this.#target = this.#parts.judge(next.href)
    }
  }

  async #sendOnce(method: string, headers: Record<string, string>): Promise<IncomingMessage> {
    this.#response?.destroy()
    this.#signal.throwIfAborted()
    this.waiting(true)
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      this.#parts.guard
        .start(this.#target, {
          method,
          headers: { Accept: '*/*', ...headers },
          // The connection is not kept, and no connection from other rules is reused.
          connection: 'own',
          signal: AbortSignal.any([this.#signal, this.#stop.signal]),
        })
        .on('response', resolve)
        .on('error', reject)
    })
    // A connection error while no reader waits must not be an unhandled error. A reader still receives it.
    response.on('error', () => this.waiting(false))
    this.waiting(false)
    this.#response = response
    return response
  }

  /** The idle timer runs only while we wait for the other side, not while our own reader is slow. */
  waiting(on: boolean): void {
    clearTimeout(this.#silence)
    if (on) this.#silence = setTimeout(() => this.#stop.abort(), this.#parts.limits.timeoutMs)
  }

  end(): void {
    this.waiting(false)
    clearTimeout(this.#total)
    this.#response?.destroy()
  }

  unexpected(response: IncomingMessage): Fault {
    const status = response.statusCode ?? 0
    return new Fault(
      'upstream',
      status >= 200 && status < 300
        ? `${this.#target.url.host} does not send the whole content uncompressed; the reference must lead to plain content.`
        : `${this.#target.url.host} answered ${status}; check that the reference can be fetched without credentials.`,
      { code: 'MEDIA_REF_UNREACHABLE', retryable: status === 429 || status >= 500 },
    )
  }

  /** Names only the host: the rest of a reference may contain a secret. */
  explain(error: unknown): Fault {
    if (error instanceof Fault) return error
    if (this.#signal.aborted) {
      const { reason } = this.#signal
      return reason instanceof Fault ? reason : new Fault('canceled', 'The fetch was canceled.', { cause: error })
    }
    const why = this.#stop.signal.aborted ? 'took too long' : `failed (${errorCode(error)})`
    return new Fault('upstream', `Fetching from ${this.#target.url.host} ${why}; try again, or check the reference.`, {
      code: 'MEDIA_REF_UNREACHABLE',
      cause: error,
    })
  }
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300
}

function describe(response: IncomingMessage, length: string | undefined): { mimeType?: string; bytes?: number } {
  const mimeType = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  return {
    ...(mimeType && { mimeType }),
    ...(length !== undefined && !isEncoded(response) && { bytes: Number(length) }),
  }
}

function tooLarge(maxBytes: number): Fault {
  return new Fault('invalid-input', `The content of the reference is larger than the ${maxBytes} bytes allowed.`, {
    code: 'MEDIA_TOO_LARGE',
  })
}
