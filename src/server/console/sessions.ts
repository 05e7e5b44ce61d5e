/**
 * The sessions of people who are logged in to the console. The page holds a random token; the store keeps the token's
 * hash, so that all nodes know the session, and a reader of the database cannot use it.
 * docs/decisions/0022-sessions-without-cookies.md.
 */
import { LRUCache } from 'lru-cache'
import { type Caller, ownerOf } from '../../core/call/caller.ts'
import { Buckets } from '../../core/fairness/buckets.ts'
import { Fault } from '../../core/fault.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import { reduced } from './scopes.ts'

const LIFETIME_MS = 8 * 3_600_000
const IDLE_MS = 3_600_000
/** A used session is written at most once in this time. It may therefore outlive its idle time by as much. */
const TOUCH_MS = 300_000
/** A session that another node has ended is refused here after this time, if the message about its end was lost. */
const RECHECK_MS = 5_000
const MAX_KNOWN = 10_000
/** One caller logs in this often at once, and then once in ten seconds. It bounds what a caller can store. */
const LOGINS = { capacity: 50, msPerToken: 10_000 }

const MARK = 'cps_'
const BEARER = /^bearer +(cps_[\w-]{43}) *$/i

export interface SessionParts {
  records: Pick<Records, 'get' | 'put' | 'replace' | 'remove'>
  env: Pick<Environment, 'clock' | 'digest' | 'newSecret' | 'log'>
  /** Every session is read-only. */
  readOnly: boolean
  /** False if the configuration no longer has the token that a session was made with. */
  isTokenValid(tokenHash: string): boolean
  /** Absent if no other process uses the store. */
  siblings?: Pick<Siblings, 'anyoneElse'> | undefined
}

export interface NewSession {
  caller: Caller
  readOnly?: boolean
  /** The session ends with the credential that it was made with. */
  until?: number
  /** Of the static token that the session was made with. */
  tokenHash?: string
}

export interface CreatedSession {
  session: string
  expiresAt: string
  idleSeconds: number
  scopes: readonly string[]
  mode: 'read-write' | 'read-only'
}

interface Stored {
  caller: Caller
  expiresAt: number
  usedAt: number
  tokenHash?: string
}

interface Known extends Stored {
  text: string
  /** On the monotonic clock. */
  recheckAt: number
}

export class ConsoleSessions {
  readonly #parts: SessionParts
  readonly #known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  readonly #logins: Buckets
  readonly #tellOthers: ((key: string) => Promise<boolean>) | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#logins = new Buckets(LOGINS, parts.env.clock)
    this.#tellOthers = parts.siblings?.anyoneElse('session-ended', (key) => {
      this.#known.delete(key)
      // A message that needs no answer.
      return false
    })
  }

  async create({ caller: given, readOnly = false, until, tokenHash }: NewSession): Promise<CreatedSession> {
    const { env, records } = this.#parts
    const waitMs = this.#logins.take(`${given.tenant} ${ownerOf(given)}`)
    if (waitMs > 0) throw tooMany(waitMs)
    const now = env.clock.now()
    const expiresAt = Math.min(now + LIFETIME_MS, until ?? Number.POSITIVE_INFINITY)
    if (expiresAt <= now) throw sessionEnded()
    const isReadOnly = readOnly || this.#parts.readOnly
    const session = { expiresAt, idleSeconds: IDLE_MS / 1000, ...(isReadOnly && { readOnly: true as const }) }
    const caller: Caller = { ...reduced(given), session }
    const token = MARK + env.newSecret()
    const stored: Stored = { caller, expiresAt, usedAt: now, ...(tokenHash !== undefined && { tokenHash }) }
    await records.put(this.#key(token), JSON.stringify(stored), endOf(stored))
    return {
      session: token,
      expiresAt: new Date(expiresAt).toISOString(),
      idleSeconds: session.idleSeconds,
      scopes: caller.scopes,
      mode: isReadOnly ? 'read-only' : 'read-write',
    }
  }

  /** `undefined` for another credential. Throws if the session has ended. `header` takes lower-case names. */
  recognize(header: (name: string) => string | undefined): Caller | Promise<Caller> | undefined {
    const token = tokenIn(header)
    if (token === undefined) return undefined
    const key = this.#key(token)
    const known = this.#known.get(key)
    if (!known || this.#parts.env.clock.monotonicMs() >= known.recheckAt) return this.#look(key)
    return this.#use(key, known)
  }

  /** Ends the session of the request. False if the request has none. */
  async end(header: (name: string) => string | undefined): Promise<boolean> {
    const token = tokenIn(header)
    if (token === undefined) return false
    const key = this.#key(token)
    await this.#parts.records.remove(key)
    this.#known.delete(key)
    this.#tellOthers?.(key).catch((err: unknown) => {
      this.#parts.env.log.warn({ err }, 'could not tell other processes that a session of the console has ended')
    })
    return true
  }

  async #look(key: string): Promise<Caller> {
    const text = await this.#parts.records.get(key)
    if (text === undefined) {
      this.#known.delete(key)
      throw sessionEnded()
    }
    const recheckAt = this.#parts.env.clock.monotonicMs() + RECHECK_MS
    const known: Known = { ...(JSON.parse(text) as Stored), text, recheckAt }
    this.#known.set(key, known)
    return this.#use(key, known)
  }

  #use(key: string, known: Known): Caller | Promise<Caller> {
    const { env, isTokenValid } = this.#parts
    const now = env.clock.now()
    const isRevoked = known.tokenHash !== undefined && !isTokenValid(known.tokenHash)
    if (now >= endOf(known) || isRevoked) throw sessionEnded()
    if (now - known.usedAt < TOUCH_MS) return known.caller
    return this.#touch(key, known, now).then(() => known.caller)
  }

  /** Writes the time of use. The write is conditional, so it cannot bring back a session that was ended meanwhile. */
  async #touch(key: string, known: Known, now: number): Promise<void> {
    const { records, env } = this.#parts
    const { caller, expiresAt, tokenHash, text: before } = known
    const stored: Stored = { caller, expiresAt, usedAt: now, ...(tokenHash !== undefined && { tokenHash }) }
    const text = JSON.stringify(stored)
    // At once, so that the requests of this moment do not all write.
    Object.assign(known, { usedAt: now, text })
    try {
      // Another node may have written its own time of use.
      if (!(await records.replace(key, before, text, endOf(stored)))) this.#known.delete(key)
    } catch (err) {
      this.#known.delete(key)
      env.log.warn({ err }, 'could not write that a session of the console is in use')
    }
  }

  #key(token: string): string {
    return `console/session/${this.#parts.env.digest(token)}`
  }
}

function tokenIn(header: (name: string) => string | undefined): string | undefined {
  const authorization = header('authorization')
  // Nearly every credential is another one, and finding the mark is faster than running the pattern.
  if (authorization === undefined || !authorization.includes(MARK)) return undefined
  return BEARER.exec(authorization)?.[1]
}

function endOf({ expiresAt, usedAt }: Stored): number {
  return Math.min(expiresAt, usedAt + IDLE_MS + TOUCH_MS)
}

function sessionEnded(): Fault {
  return new Fault('unauthenticated', 'Your session has ended. Log in to the console again.', {
    details: { reason: 'session-ended' },
  })
}

export function tooMany(retryAfterMs: number): Fault {
  return new Fault('rate-limited', 'There were too many logins. Try again in a moment.', { retryAfterMs })
}
