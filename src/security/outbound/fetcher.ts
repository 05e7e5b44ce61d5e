/**
 * The one client that fetches what a caller merely names. It goes only where the rules allow, to addresses that were
 * checked, and reads no more and waits no longer than it is told. It uses no proxy, keeps no cookies and sends no
 * credentials.
 */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import { declaredBytes, errorCode, GuardedHttp, isEncoded, type Target } from './guarded-http.ts'
import { createHostRules, type OutboundRules, referenceRefusals, refused } from './rules.ts'

export interface FetcherOptions extends OutboundRules {
  /** How long the other side may be silent: until its answer begins, and between two pieces of it. */
  timeoutMs?: number
  /** How long one fetch may take in all. */
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
        // Not every server has HEAD, and a URL that is pre-signed for GET is good for nothing else.
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
  /** Throws a refusal if the reference leads where none may. */
  judge(uri: string): Target
  limits: FetchLimits
}

interface FetchLimits {
  timeoutMs: number
  totalTimeoutMs: number
  maxRedirects: number
}

/** One fetch, redirects included: its clock, its caller's signal and what to say when it fails. */
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

  /** Follows redirects; each target is judged as if it had been the first. */
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
      if (!next) throw refused('The reference redirects to something that is no URL.')
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
          // None is kept, and none that was opened under other rules is used.
          connection: 'own',
          signal: AbortSignal.any([this.#signal, this.#stop.signal]),
        })
        .on('response', resolve)
        .on('error', reject)
    })
    // A connection that breaks while nobody reads must not be an unhandled error; whoever reads still gets it.
    response.on('error', () => this.waiting(false))
    this.waiting(false)
    this.#response = response
    return response
  }

  /** The clock of silence runs only while we wait for the other side, not while our own reader takes its time. */
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
        ? `${this.#target.url.host} does not send the whole content as it is; the reference must lead to plain content.`
        : `${this.#target.url.host} answered ${status}; check that the reference can be fetched without credentials.`,
      { code: 'MEDIA_REF_UNREACHABLE', retryable: status === 429 || status >= 500 },
    )
  }

  /** Only the host is named: the rest of a reference may be a secret. */
  explain(error: unknown): Fault {
    if (error instanceof Fault) return error
    if (this.#signal.aborted) {
      const { reason } = this.#signal
      return reason instanceof Fault ? reason : new Fault('canceled', 'The fetch was called off.', { cause: error })
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
