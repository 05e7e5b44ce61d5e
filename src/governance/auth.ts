/**
 * Who is calling: a static token, an API key or a JWT becomes a Caller. The credential itself goes no further than
 * this file: it is in no Caller, no fault and no log line.
 */
import { LRUCache } from 'lru-cache'
import { Fault } from '../core/fault.ts'
import type { Caller } from '../core/model.ts'
import type { Clock } from '../core/ports.ts'
import { type Credential, MAX_TOKEN_LENGTH } from './auth-credential.ts'
import { badCredential, createJwtVerifier, type JwtRules, type VerifiedJwt, type VerifyJwt } from './auth-jwt.ts'
import { createTokenFinder, digestOf, expiredCredential, type StaticToken } from './auth-tokens.ts'

export type { Credential } from './auth-credential.ts'
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
  authenticate(credential: Credential | undefined): Caller | undefined | Promise<Caller>
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
  const verifyJwt = jwt.length > 0 ? rememberVerified(createJwtVerifier(jwt, tenant, clock), clock) : undefined
  return {
    authenticate(credential) {
      if (!credential) return undefined
      if (credential.token.length > MAX_TOKEN_LENGTH) throw badCredential()
      const digest = digestOf(credential.token)
      const now = clock.now()
      const known = findToken(credential, digest, now)
      if (known) return known
      if (!verifyJwt || credential.scheme !== 'bearer') throw badCredential()
      return verifyJwt(credential.token, digest, now)
    },
  }
}

/** By the hash of the whole token, signature included, so that only the very same token is recognised. */
function rememberVerified(verify: VerifyJwt, clock: Pick<Clock, 'now'>) {
  const remembered = new LRUCache<string, VerifiedJwt & { until: number }>({ max: MAX_REMEMBERED })
  const verifyAnew = async (token: string, digest: string): Promise<Caller> => {
    const verified = await verify(token)
    if (!verified) throw badCredential()
    remembered.set(digest, { ...verified, until: clock.now() + REMEMBER_MS })
    return verified.caller
  }
  return (token: string, digest: string, now: number): Caller | Promise<Caller> => {
    const entry = remembered.get(digest)
    if (entry && now >= entry.expiresAt) {
      remembered.delete(digest)
      throw expiredCredential()
    }
    return entry && now < entry.until ? entry.caller : verifyAnew(token, digest)
  }
}
