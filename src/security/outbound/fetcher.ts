/**
 * The one client that fetches what a caller merely names. It goes only where the rules allow, to addresses that were
 * checked, and reads no more and waits no longer than it is told. It uses no proxy, keeps no cookies and sends no
 * credentials. It is built on node:http because the global `fetch` cannot be held to a checked address.
 */
import { lookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import { createTargetRules, type OutboundRules, refused, type TargetRules } from './rules.ts'

export interface FetcherOptions extends OutboundRules {
  /** How long the other side may be silent: until its answer begins, and between two pieces of it. */
  timeoutMs?: number
  /** How long one fetch may take in all. */
  totalTimeoutMs?: number
  maxRedirects?: number
}

export function createFetcher(options: FetcherOptions = {}): Fetcher {
  const { timeoutMs = 10_000, totalTimeoutMs = 600_000, maxRedirects = 3 } = options
  const rules = createTargetRules(options, options.resolve ?? ((hostname) => lookup(hostname, { all: true })))
  const start = (uri: string, signal: AbortSignal) =>
    new Fetch(uri, rules, { timeoutMs, totalTimeoutMs, maxRedirects }, signal)
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
        let total = Number(response.headers['content-length'] ?? 0)
        if (total > maxBytes) throw tooLarge(maxBytes)
        total = 0
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

interface FetchLimits {
  timeoutMs: number
  totalTimeoutMs: number
  maxRedirects: number
}

/** One fetch, redirects included: its clock, its caller's signal and what to say when it fails. */
class Fetch {
  readonly #rules: TargetRules
  readonly #limits: FetchLimits
  readonly #signal: AbortSignal
  readonly #stop = new AbortController()
  readonly #total: NodeJS.Timeout
  #silence: NodeJS.Timeout | undefined
  #response: IncomingMessage | undefined
  #url: URL

  constructor(uri: string, rules: TargetRules, limits: FetchLimits, signal: AbortSignal) {
    this.#rules = rules
    this.#limits = limits
    this.#signal = signal
    this.#url = rules.check(uri)
    this.#total = setTimeout(() => this.#stop.abort(), limits.totalTimeoutMs)
  }

  /** Follows redirects; each target is judged as if it had been the first. */
  async send(method: 'GET' | 'HEAD', headers: Record<string, string>): Promise<IncomingMessage> {
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#sendOnce(method, headers)
      const { location } = response.headers
      const status = response.statusCode ?? 0
      if (location === undefined || ![301, 302, 303, 307, 308].includes(status)) return response
      if (redirects === this.#limits.maxRedirects) {
        throw refused(`The reference redirects more than ${redirects} times; name its final address.`)
      }
      if (!URL.canParse(location, this.#url.href)) throw refused('The reference redirects to something that is no URL.')
      this.#url = this.#rules.check(new URL(location, this.#url).href)
    }
  }

  async #sendOnce(method: string, headers: Record<string, string>): Promise<IncomingMessage> {
    this.#response?.destroy()
    this.#signal.throwIfAborted()
    this.waiting(true)
    // Asked for when needed, and not imported by name: see carriers/http/server.ts.
    const { request } = process.getBuiltinModule(this.#url.protocol === 'https:' ? 'node:https' : 'node:http')
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(this.#url, {
        method,
        headers: { Accept: '*/*', 'Accept-Encoding': 'identity', 'User-Agent': 'callplane', ...headers },
        // A connection of its own: none is kept, and none that was opened under other rules is used.
        agent: false,
        lookup: this.#rules.lookup,
        signal: AbortSignal.any([this.#signal, this.#stop.signal]),
        maxHeaderSize: 16 * 1024,
      })
        .on('response', resolve)
        .on('error', reject)
        .end()
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
    if (on) this.#silence = setTimeout(() => this.#stop.abort(), this.#limits.timeoutMs)
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
        ? `${this.#url.host} does not send the whole content as it is; the reference must lead to plain content.`
        : `${this.#url.host} answered ${status}; check that the reference can be fetched without credentials.`,
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
    return new Fault('upstream', `Fetching from ${this.#url.host} ${why}; try again, or check the reference.`, {
      code: 'MEDIA_REF_UNREACHABLE',
      cause: error,
    })
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300
}

function isEncoded({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
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
