/**
 * Authenticates callers: turns a static token, an API key or a JWT into a Caller. The credential does not leave this
 * file: no Caller, fault or log line contains it.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { PresentedAuth } from '../../core/ports/guard.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { badCredential, createJwtVerifier, type JwtRules } from './jwt.ts'
import { callerFrom, type VerifyCaller } from './own-verification.ts'
import { MAX_TOKEN_LENGTH, type ReadHeader, readCredential, soleAuthorization } from './presented-credential.ts'
import { createTokenFinder, expiredCredential, type Proved, type StaticToken } from './tokens.ts'

export type { JwtRules } from './jwt.ts'
export type { JwtKey } from './jwt-keys.ts'
export type { VerifiedCaller, VerifyCaller } from './own-verification.ts'
export { readCredential } from './presented-credential.ts'
export { createToken, hashToken, type StaticToken, takeEnvironmentToken } from './tokens.ts'

export interface AuthConfig {
  /** The application's own check. It runs before `tokens` and `jwt`, for every call and every transport. */
  verify?: VerifyCaller
  tokens?: readonly StaticToken[]
  jwt?: readonly JwtRules[]
  /** The tenant of callers whose credential names none. Default: `main`. */
  tenant?: string
}

export interface Authenticator {
  /**
   * Returns `undefined` without a credential; the operation decides whether it needs one. Throws a fault of kind
   * `unauthenticated` for an invalid credential. Returns known tokens and cached JWTs without a promise.
   */
  authenticate(header: ReadHeader, auth?: PresentedAuth): Caller | undefined | Promise<Caller | undefined>
}

/** A JWT is verified again after this time, so that a revoked key stops working. */
const REMEMBER_MS = 300_000
const MAX_REMEMBERED = 10_000

/** `remote` fetches the keys of issuers that publish them. */
export function createAuthenticator(
  config: AuthConfig,
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  remote: RemoteClient,
): Authenticator {
  const { verify, tokens = [], jwt = [], tenant = 'main' } = config
  if (!verify && tokens.length === 0 && jwt.length === 0) {
    const message = 'auth accepts no caller: add "tokens", "jwt" or "verify", or leave auth out to serve loopback only.'
    throw new Fault('malformed', message)
  }
  if (verify !== undefined && typeof verify !== 'function') {
    throw new Fault('malformed', 'auth.verify must be a function that returns a caller.')
  }
  const own =
    tokens.length === 0 && jwt.length === 0 ? () => undefined : authenticateBy(tokens, jwt, tenant, clock, remote)
  return { authenticate: verify ? verifyFirst(verify, own, tenant) : own }
}

type ByHeader = (header: ReadHeader) => Caller | undefined | Promise<Caller>

function verifyFirst(verify: VerifyCaller, own: ByHeader, tenant: string): Authenticator['authenticate'] {
  return (header, auth) => {
    const judge = (verified: Awaited<ReturnType<VerifyCaller>>) => (verified ? callerFrom(verified, tenant) : undefined)
    const byHeader = (caller: Caller | undefined) => caller ?? own(header)
    try {
      const returned = verify({ header: (name) => header(name.toLowerCase()), ...(auth && { auth }) })
      if (!returned || !('then' in returned)) return byHeader(judge(returned))
      return returned.then(judge).catch(failed).then(byHeader)
    } catch (thrown) {
      return failed(thrown)
    }
  }
}

/** Passes on the application's refusal. Any other error is internal: no operation has run. */
function failed(thrown: unknown): never {
  if (thrown instanceof Fault) throw thrown
  throw new Fault('internal', 'The server could not authenticate the caller. Its log has the reason.', {
    cause: thrown,
  })
}

function authenticateBy(
  tokens: readonly StaticToken[],
  jwt: readonly JwtRules[],
  tenant: string,
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  remote: RemoteClient,
): ByHeader {
  const findToken = createTokenFinder(tokens, tenant)
  const verifyJwt = jwt.length > 0 ? createJwtVerifier(jwt, tenant, clock, remote) : undefined
  const prove: Prove = (header, now) => {
    const credential = readCredential(header)
    if (!credential) return undefined
    const known = findToken(credential, now)
    if (known) return known
    if (!verifyJwt || credential.scheme !== 'bearer') throw badCredential()
    return verifyJwt(credential.token)
  }
  return rememberProved(prove, clock)
}

interface Remembered extends Proved {
  readonly until: number
}

type Prove = (header: ReadHeader, now: number) => Proved | undefined | Promise<Proved>

/**
 * Caches callers by the hash of the whole Authorization field, including the signature, so only an identical text
 * matches and needs no parsing. The text itself is not stored, and a caller cannot choose a text with a given hash.
 */
function rememberProved(prove: Prove, clock: Pick<Clock, 'now' | 'monotonicMs'>): ByHeader {
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED })
  // A caller usually sends several calls in a row. Comparing two hashes is faster than looking one up.
  let lastDigest = ''
  let last: Remembered | undefined
  const find = (digest: string): Remembered | undefined => {
    if (digest !== lastDigest) {
      last = remembered.get(digest)
      lastDigest = digest
    }
    return last
  }
  const remember = (digest: string, proved: Proved): Caller => {
    remembered.set(digest, { ...proved, until: clock.monotonicMs() + REMEMBER_MS })
    lastDigest = ''
    return proved.caller
  }
  return (header) => {
    const now = clock.now()
    const text = soleAuthorization(header)
    if (text === undefined || text.length > MAX_TOKEN_LENGTH || !isPlain(text)) return callerIn(prove(header, now))
    const digest = hash('sha256', text, 'binary')
    const known = find(digest)
    if (known && now >= known.expiresAt) {
      remembered.delete(digest)
      lastDigest = ''
      throw expiredCredential()
    }
    if (known && clock.monotonicMs() < known.until) return known.caller
    const proved = prove(header, now)
    if (proved instanceof Promise) return proved.then((jwt) => remember(digest, jwt))
    return proved && remember(digest, proved)
  }
}

/** Requires exactly one space. Otherwise variants of one token with more spaces could evict all other entries. */
function isPlain(text: string): boolean {
  // `lastIndexOf` looks at one character after the other; `indexOf` does not.
  return text.indexOf(' ', text.indexOf(' ') + 1) < 0
}

function callerIn(proved: ReturnType<Prove>): ReturnType<ByHeader> {
  return proved instanceof Promise ? proved.then(({ caller }) => caller) : proved?.caller
}
