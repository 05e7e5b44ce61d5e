/**
 * Keeps access tokens in memory until shortly before they expire, and evicts the least recently used first. Concurrent
 * requests for the same token share one exchange, which continues while at least one of them waits.
 */
import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { AccessToken } from './client-credentials.ts'
import type { SharedTokens } from './shared-tokens.ts'

export interface HeldToken {
  value: string
  /** True if other calls may receive the same token. */
  remembered: boolean
}

export type ExchangeToken = (signal: AbortSignal) => Promise<AccessToken>

const MAX_TOKENS = 1_000
const EXCHANGE_MS = 10_000

export class TokenCache {
  readonly #clock: Clock
  readonly #tokens: LRUCache<string, { value: string; expiresAt: number }>
  readonly #exchanges = new Map<string, SharedExchange>()
  /** Tokens that were refused and not replaced yet. */
  readonly #refused = new LRUCache<string, string>({ max: MAX_TOKENS })
  readonly #shared: SharedTokens | undefined

  /** `shared` is set if several nodes use the same tokens. */
  constructor(clock: Clock, shared?: SharedTokens) {
    this.#clock = clock
    this.#tokens = new LRUCache({ max: MAX_TOKENS })
    this.#shared = shared
  }

  async take(key: string, exchange: ExchangeToken, signal: AbortSignal): Promise<HeldToken> {
    const known = this.#tokens.get(key)
    if (known && known.expiresAt > this.#clock.monotonicMs()) return { value: known.value, remembered: true }
    this.#tokens.delete(key)
    const running = this.#exchanges.get(key)
    const shared = running ?? this.#start(key, exchange)
    const { value, lifetimeMs } = await shared.join(signal)
    if (lifetimeMs > 0) return { value, remembered: true }
    if (!running) return { value, remembered: false }
    // A single-use token belongs to the first caller, so this caller starts its own exchange.
    const own = new SharedExchange(exchange, this.#clock)
    return { value: (await own.join(signal)).value, remembered: false }
  }

  /** Removes only this value: the token may have been replaced since it was returned. */
  evict(key: string, value: string): void {
    if (this.#tokens.peek(key)?.value !== value) return
    this.#tokens.delete(key)
    this.#refused.set(key, value)
  }

  #start(key: string, exchange: ExchangeToken): SharedExchange {
    // The lifetime starts here, because the time at which the endpoint created the token is unknown.
    const askedAt = this.#clock.monotonicMs()
    const shared = new SharedExchange(async (signal) => {
      try {
        const token = this.#shared
          ? await this.#shared.take(key, this.#refused.get(key), exchange, signal)
          : await exchange(signal)
        this.#refused.delete(key)
        if (token.lifetimeMs > 0) {
          this.#tokens.set(key, { value: token.value, expiresAt: askedAt + token.lifetimeMs })
        }
        return token
      } catch (thrown) {
        throw this.#explain(key, thrown)
      }
    }, this.#clock)
    this.#exchanges.set(key, shared)
    shared.whenOver(() => {
      if (this.#exchanges.get(key) === shared) this.#exchanges.delete(key)
    })
    return shared
  }

  /** The tool refused the token and no new one is available now. The call is retried once and then fails. */
  #explain(key: string, thrown: unknown): unknown {
    const temporary = thrown instanceof Fault && thrown.kind === 'upstream' && thrown.retryable
    if (!this.#refused.delete(key) || !temporary) return thrown
    return new Fault('credential-expired', `The tool no longer accepts the access token. ${thrown.message}`, {
      ...(thrown.retryAfterMs !== undefined && { retryAfterMs: thrown.retryAfterMs }),
    })
  }
}

/** One exchange that several callers wait for. Each can leave, and the last one to leave cancels it. */
class SharedExchange {
  readonly #stop = new AbortController()
  readonly #token: Promise<AccessToken>
  #waiting = 0
  #over = () => {}

  constructor(exchange: ExchangeToken, clock: Clock) {
    const cancelTimer = clock.schedule(EXCHANGE_MS, () => this.#stop.abort(tooSlow()))
    this.#token = exchange(this.#stop.signal).finally(() => {
      cancelTimer()
      this.#over()
    })
  }

  /** Runs before a new caller could join an exchange that has ended or was canceled. */
  whenOver(over: () => void): void {
    this.#over = over
  }

  join(signal: AbortSignal): Promise<AccessToken> {
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting -= 1
        if (this.#waiting === 0) {
          this.#over()
          this.#stop.abort(reasonOf(signal))
        }
        reject(reasonOf(signal))
      }
      const settle = () => signal.removeEventListener('abort', leave)
      this.#token.then(resolve, reject).finally(settle)
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    })
  }
}

function reasonOf({ reason }: AbortSignal): Fault {
  return reason instanceof Fault ? reason : new Fault('canceled', 'The call was stopped; send it again.')
}

function tooSlow(): Fault {
  return new Fault('upstream', `The token endpoint did not answer within ${EXCHANGE_MS} ms. Try again in a moment.`)
}
