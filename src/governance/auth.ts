/**
 * Who is calling: a static token, an API key or a JWT becomes a Caller. The credential itself goes no further than
 * this file: it is in no Caller, no fault and no log line.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Fault } from '../core/fault.ts'
import type { Caller } from '../core/model.ts'
import type { Clock } from '../core/ports.ts'
import { MAX_TOKEN_LENGTH, type ReadHeader, readCredential, soleAuthorization } from './auth-credential.ts'
import { badCredential, createJwtVerifier, type JwtRules } from './auth-jwt.ts'
import { createTokenFinder, expiredCredential, type Proved, type StaticToken } from './auth-tokens.ts'

export { readCredential } from './auth-credential.ts'
export type { JwtRules } from './auth-jwt.ts'
export type { JwtKey } from './auth-jwt-keys.ts'
export { createToken, hashToken, type StaticToken, takeEnvironmentToken } from './auth-tokens.ts'

export interface AuthConfig {
  tokens?: readonly StaticToken[]
  jwt?: readonly JwtRules[]
  /** Of callers whose credential names none; `main` unless given. */
  tenant?: string
}

export interface Authenticator {
  /**
   * Nothing for no credential: whether that will do is for the operation to say. A bad one is a fault of kind
   * `unauthenticated`. Known tokens, and JWTs seen before, are answered at once, without a promise.
   */
  authenticate(header: ReadHeader): Caller | undefined | Promise<Caller>
}

/** A JWT is verified again after this long, so that a key taken out of use stops working. */
const REMEMBER_MS = 300_000
const MAX_REMEMBERED = 10_000

export function createAuthenticator(config: AuthConfig, clock: Pick<Clock, 'now'>): Authenticator {
  const { tokens = [], jwt = [], tenant = 'main' } = config
  if (tokens.length === 0 && jwt.length === 0) {
    throw new Fault('malformed', 'auth names nobody: add "tokens" or "jwt", or leave auth out to serve loopback only.')
  }
  const findToken = createTokenFinder(tokens, tenant)
  const verifyJwt = jwt.length > 0 ? createJwtVerifier(jwt, tenant, clock) : undefined
  const prove: Prove = (header, now) => {
    const credential = readCredential(header)
    if (!credential) return undefined
    const known = findToken(credential, now)
    if (known) return known
    if (!verifyJwt || credential.scheme !== 'bearer') throw badCredential()
    return verifyJwt(credential.token)
  }
  return { authenticate: rememberProved(prove, clock) }
}

type Prove = (header: ReadHeader, now: number) => Proved | undefined | Promise<Proved>

/**
 * By the hash of the whole Authorization field, signature included, so that only the very same text is recognised: it is
 * not even read again. The text itself is not kept, and nobody can steer its hash towards one that is.
 */
function rememberProved(prove: Prove, clock: Pick<Clock, 'now'>): Authenticator['authenticate'] {
  const remembered = new LRUCache<string, Proved & { until: number }>({ max: MAX_REMEMBERED })
  const remember = (digest: string, proved: Proved): Caller => {
    remembered.set(digest, { ...proved, until: clock.now() + REMEMBER_MS })
    return proved.caller
  }
  return (header) => {
    const now = clock.now()
    const text = soleAuthorization(header)
    if (text === undefined || text.length > MAX_TOKEN_LENGTH || !isPlain(text)) return callerIn(prove(header, now))
    const digest = hash('sha256', text, 'binary')
    const known = remembered.get(digest)
    if (known && now >= known.expiresAt) {
      remembered.delete(digest)
      throw expiredCredential()
    }
    if (known && now < known.until) return known.caller
    const proved = prove(header, now)
    if (proved instanceof Promise) return proved.then((jwt) => remember(digest, jwt))
    return proved && remember(digest, proved)
  }
}

/** With one space: or one token, spelled with more and more of them, would push all others out. */
function isPlain(text: string): boolean {
  return text.indexOf(' ') === text.lastIndexOf(' ')
}

function callerIn(proved: ReturnType<Prove>): ReturnType<Authenticator['authenticate']> {
  return proved instanceof Promise ? proved.then(({ caller }) => caller) : proved?.caller
}
