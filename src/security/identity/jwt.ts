/** Turns a JWT into a caller. jose checks signature, times, issuer and audience; this file sets the expected values. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { createVerificationKey, type JwtKey, type VerificationKey } from './jwt-keys.ts'
import { APPLICATION_ISSUER } from './own-verification.ts'
import { expiredCredential, type Proved, STATIC_ISSUER } from './tokens.ts'

export interface JwtRules {
  /**
   * The required `iss`. Several rules may name one issuer, for example during a key change. It is optional with a
   * shared secret: the rule then accepts tokens without an issuer, or with one that no other rule names.
   */
  issuer?: string
  /**
   * The required `aud`: one of them if there are several. Tokens for another service are refused. It is optional with a
   * shared secret, and is then checked only for tokens that have an `aud`.
   */
  audience?: string | readonly string[]
  /** The caller's subject, regardless of `sub`, so that tokens need none. Only with a shared secret. */
  subject?: string
  key: JwtKey
  /** Tolerates clock differences. Default: 5. */
  clockToleranceSeconds?: number
  /** False accepts tokens that never expire. */
  requireExpiry?: boolean
  /**
   * The claim that names the tenant. A token without it is refused, so that no caller falls into the default tenant.
   */
  tenantClaim?: string
  /**
   * The claims that hold scopes, by name or by path (`['realm_access', 'roles']`): a text of words, or a list. All
   * claims that exist are combined. Default: the first existing one of `scope`, `scp` and `scopes`.
   */
  scopeClaims?: readonly (string | readonly string[])[]
}

export type VerifyJwt = (token: string) => Promise<Proved>

interface Rule extends VerificationKey, Naming {
  audience: string[]
  /** OXP and OTC, "JWT": the audience is checked only if a token has one. */
  audienceIfAny: boolean
  toleranceSeconds: number
  required: string[]
}

/** How claims name a caller. */
interface Naming {
  issuer: string | undefined
  subject: string | undefined
  tenantClaim: string | undefined
  scopeClaims: readonly (readonly string[])[] | undefined
}

/**
 * The issuer of callers whose rule names none. Never taken from the token: a holder of the secret could then act as a
 * caller of any issuer.
 */
const SECRET_ISSUER = 'shared-secret'
const RESERVED_ISSUERS = new Set([STATIC_ISSUER, SECRET_ISSUER, APPLICATION_ISSUER, ANONYMOUS.issuer])
const NOT_CLAIMS = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'scope', 'scp', 'scopes'])
const MAX_NAME_LENGTH = 256

/** The verifier throws for a token of an unknown issuer and for a token that breaks its issuer's rules. */
export function createJwtVerifier(
  rules: readonly JwtRules[],
  tenant: string,
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  remote: RemoteClient,
): VerifyJwt {
  const byIssuer = Map.groupBy(
    rules.map((rule, index) => prepare(rule, `auth.jwt[${index}]`, clock, remote)),
    (rule) => rule.issuer,
  )
  return async (token) => {
    const claimed = claimsIn(token)
    const candidates = claimed && (byIssuer.get(claimed.iss) ?? byIssuer.get(undefined))
    if (!candidates) throw badCredential()
    let refusal: unknown
    for (const rule of candidates) {
      try {
        const payload = await verify(token, claimed, rule, new Date(clock.now()))
        return { caller: callerOf(payload, rule, tenant), expiresAt: expiryOf(payload, rule) }
      } catch (error) {
        // With two keys of one issuer, "expired" from the matching key says more than "bad signature" from the other
        // one.
        if (!(refusal instanceof errors.JWTExpired)) refusal = error
      }
    }
    throw refuse(refusal)
  }
}

/** For claims that were verified elsewhere, such as in a login: the caller by the first rule of this issuer. */
export function createClaimsReader(
  rules: readonly JwtRules[],
  issuer: string,
  tenant: string,
): (claims: JsonObject) => Caller | undefined {
  const index = rules.findIndex((rule) => rule.issuer === issuer)
  const found = rules[index]
  if (!found) return () => undefined
  const naming: Naming = {
    issuer,
    subject: found.subject,
    tenantClaim: found.tenantClaim,
    scopeClaims: parseScopeClaims(found, `auth.jwt[${index}]`),
  }
  return (claims) => callerOf(claims, naming, tenant)
}

function prepare(rule: JwtRules, where: string, clock: Pick<Clock, 'now' | 'monotonicMs'>, remote: RemoteClient): Rule {
  const shared = 'secret' in rule.key
  return {
    ...createVerificationKey(rule.key, `${where}.key`, clock, remote),
    issuer: parseIssuer(rule, where, shared),
    audience: parseAudience(rule, where, shared),
    audienceIfAny: shared,
    subject: parseSubject(rule, where, shared),
    toleranceSeconds: rule.clockToleranceSeconds ?? 5,
    required: [...(rule.subject === undefined ? ['sub'] : []), ...(rule.requireExpiry === false ? [] : ['exp'])],
    tenantClaim: rule.tenantClaim,
    scopeClaims: parseScopeClaims(rule, where),
  }
}

function parseIssuer({ issuer }: JwtRules, where: string, shared: boolean): string | undefined {
  if (issuer === undefined && shared) return undefined
  if (!issuer || RESERVED_ISSUERS.has(issuer)) {
    throw new Fault('malformed', `${where}.issuer must be the "iss" of the tokens, such as https://login.example.`)
  }
  // "|" separates issuer and subject where callers are identified.
  if (issuer.includes('|')) throw new Fault('malformed', `${where}.issuer must not contain "|".`)
  return issuer
}

function parseAudience({ audience }: JwtRules, where: string, shared: boolean): string[] {
  if (audience === undefined && shared) return []
  const all = typeof audience === 'string' ? [audience] : [...(audience ?? [])]
  if (all.length > 0 && !all.includes('')) return all
  throw new Fault('malformed', `${where}.audience must be the "aud" that tokens for this server carry.`)
}

function parseSubject({ subject }: JwtRules, where: string, shared: boolean): string | undefined {
  if (subject === undefined) return undefined
  if (!shared) {
    throw new Fault(
      'malformed',
      `${where}.subject needs a shared secret; leave it out, because "sub" names the caller.`,
    )
  }
  if (subject !== '' && subject.length <= MAX_NAME_LENGTH) return subject
  throw new Fault('malformed', `${where}.subject must be a name of 1 to ${MAX_NAME_LENGTH} characters.`)
}

function parseScopeClaims({ scopeClaims }: JwtRules, where: string): readonly (readonly string[])[] | undefined {
  if (scopeClaims === undefined) return undefined
  const paths = Array.isArray(scopeClaims) ? scopeClaims.map((claim) => (Array.isArray(claim) ? claim : [claim])) : []
  const isName = (name: unknown) => typeof name === 'string' && name !== ''
  if (paths.length > 0 && paths.every((path) => path.length > 0 && path.every(isName))) return paths
  throw new Fault(
    'malformed',
    `${where}.scopeClaims must name claims, such as ["permissions", ["realm_access", "roles"]].`,
  )
}

/** Not verified yet: these claims only select the rules, and are checked again together with the signature. */
function claimsIn(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token)
  } catch {
    // Not a JWT: the sender gets the same response as for an unknown issuer.
    return undefined
  }
}

async function verify(token: string, claimed: JWTPayload, rule: Rule, currentDate: Date): Promise<JWTPayload> {
  const { algorithms, issuer, audience, toleranceSeconds: clockTolerance, required: requiredClaims } = rule
  const checksAudience = !rule.audienceIfAny || (audience.length > 0 && claimed.aud !== undefined)
  const options = {
    algorithms,
    ...(issuer !== undefined && { issuer }),
    ...(checksAudience && { audience }),
    clockTolerance,
    requiredClaims,
    currentDate,
  }
  try {
    return (await jwtVerify(token, rule.key, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // A token without a key id, and a set with several matching keys: try each one.
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (failed) {
        if (!(failed instanceof errors.JWSSignatureVerificationFailed)) throw failed
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

function callerOf(payload: JWTPayload, rule: Naming, tenant: string): Caller {
  const claims = Object.entries(payload).filter(([name]) => !NOT_CLAIMS.has(name) && name !== rule.tenantClaim)
  return {
    tenant: rule.tenantClaim === undefined ? tenant : nameIn(payload, rule.tenantClaim),
    issuer: rule.issuer ?? SECRET_ISSUER,
    subject: rule.subject ?? nameIn(payload, 'sub'),
    scopes: scopesOf(payload, rule),
    ...(claims.length > 0 && { claims: Object.fromEntries(claims) as JsonObject }),
  }
}

function nameIn(payload: JWTPayload, claim: string): string {
  const value = payload[claim]
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_LENGTH) return value
  throw new errors.JWTClaimValidationFailed(`"${claim}" must not be empty`, {}, claim, 'invalid')
}

/** RFC 8693 defines `scope` as words in one text; other issuers use `scp` or `scopes`, as a text or a list. */
function scopesOf(payload: JWTPayload, { scopeClaims }: Naming): string[] {
  if (!scopeClaims) return wordsIn(payload.scope ?? payload.scp ?? payload.scopes)
  return [...new Set(scopeClaims.flatMap((path) => wordsIn(claimAt(payload, path))))]
}

function claimAt(payload: JWTPayload, path: readonly string[]): unknown {
  let value: unknown = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function wordsIn(value: unknown): string[] {
  const words = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return words.filter((word) => typeof word === 'string' && word !== '')
}

function expiryOf(payload: JWTPayload, rule: Rule): number {
  return payload.exp === undefined ? Number.POSITIVE_INFINITY : (payload.exp + rule.toleranceSeconds) * 1000
}

/** jose's errors contain the claims, which must not be logged. Only their code and fixed text are passed on. */
function refuse(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof errors.JWTExpired) return expiredCredential()
  const cause = error instanceof errors.JOSEError ? new Error(`${error.code}: ${error.message}`) : error
  return badCredential(cause)
}

export function badCredential(cause?: unknown): Fault {
  return new Fault(
    'unauthenticated',
    'The credential is not valid here. Check that it is complete and meant for this server.',
    {
      ...(cause !== undefined && { cause }),
    },
  )
}
