/**
 * Access tokens that all nodes on a store share: one node asks the token endpoint, and the others read its token, which
 * is sealed. Without the store, each node asks for itself.
 */
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Vault } from '../secrets/vault.ts'
import type { AccessToken } from './client-credentials.ts'
import type { ExchangeToken } from './token-cache.ts'

export interface SharedTokensParts {
  /** Its wall clock is the store's. */
  clock: Clock
  vault(): Pick<Vault, 'get' | 'put' | 'add' | 'remove'>
  log: Log
  newId(): string
}

interface StoredToken {
  value: string
  expiresAt: number
}

/** Longer than an exchange may take. If the node that asks is killed, the others wait no longer than this. */
const ASKING_MS = 15_000
const LOOK_EVERY_MS = 50

export class SharedTokens {
  readonly #parts: SharedTokensParts

  constructor(parts: SharedTokensParts) {
    this.#parts = parts
  }

  /** `refused` is a token that the tool no longer accepts. */
  async take(
    key: string,
    refused: string | undefined,
    exchange: ExchangeToken,
    signal: AbortSignal,
  ): Promise<AccessToken> {
    const mark = `token-asking/${key}`
    const mine = this.#parts.newId()
    let asks: boolean
    try {
      for (;;) {
        const stored = await this.#read(key, refused)
        if (stored) return stored
        asks = await this.#parts.vault().add(mark, mine, this.#parts.clock.now() + ASKING_MS)
        if (asks) break
        await this.#pause(signal)
      }
    } catch (err) {
      if (signal.aborted) throw err
      this.#parts.log.warn({ err }, 'could not share an access token with the other nodes; this one asks for its own')
      return exchange(signal)
    }
    try {
      // Another node may have stored one before this one set the mark.
      return (await this.#read(key, refused)) ?? (await this.#exchange(key, exchange, signal))
    } finally {
      await this.#unmark(mark, mine)
    }
  }

  async #read(key: string, refused: string | undefined): Promise<AccessToken | undefined> {
    const { clock, vault } = this.#parts
    const text = await vault().get(`token/${key}`)
    if (text === undefined) return undefined
    const { value, expiresAt } = JSON.parse(text) as StoredToken
    const lifetimeMs = expiresAt - clock.now()
    return value === refused || lifetimeMs <= 0 ? undefined : { value, lifetimeMs }
  }

  async #exchange(key: string, exchange: ExchangeToken, signal: AbortSignal): Promise<AccessToken> {
    const { clock, vault, log } = this.#parts
    // The lifetime starts here, because the time at which the endpoint created the token is unknown.
    const askedAt = clock.now()
    const token = await exchange(signal)
    if (token.lifetimeMs <= 0) return token
    const expiresAt = askedAt + token.lifetimeMs
    try {
      await vault().put(
        `token/${key}`,
        JSON.stringify({ value: token.value, expiresAt } satisfies StoredToken),
        expiresAt,
      )
    } catch (err) {
      log.warn({ err }, 'could not store an access token; other nodes ask for their own')
    }
    return token
  }

  async #unmark(mark: string, mine: string): Promise<void> {
    const vault = this.#parts.vault()
    try {
      if ((await vault.get(mark)) === mine) await vault.remove(mark)
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not end the request for a token; other nodes wait until it expires')
    }
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        cancel()
        reject(signal.reason)
      }
      const cancel = this.#parts.clock.schedule(LOOK_EVERY_MS, () => {
        signal.removeEventListener('abort', stop)
        resolve()
      })
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  }
}
