/** Turns a JWT into a caller. jose checks signature, times, issuer and audience; this file decides what they must be. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { ANONYMOUS, type Caller } from '../core/model.ts'
import type { Clock } from '../core/ports.ts'
import { createVerificationKey, type JwtKey, type VerificationKey } from './auth-jwt-keys.ts'
import { expiredCredential, STATIC_ISSUER } from './auth-tokens.ts'

export interface JwtRules {
  /** What `iss` must be. Several rules may name one issuer, while it moves from one key to another. */
  issuer: string
  /** What `aud` must contain, one of them if several: tokens meant for another service are refused. */
  audience: string | readonly string[]
  key: JwtKey
  /** For clocks that differ; 5 unless given. */
  clockToleranceSeconds?: number
  /** False admits tokens that never expire. */
  requireExpiry?: boolean
  /** The claim that names the tenant. A token without it is refused, so that nobody falls into the default tenant. */
  tenantClaim?: string
}

export interface VerifiedJwt {
  caller: Caller
  /** From this moment on the token is no good. */
  expiresAt: number
}

export type VerifyJwt = (token: string) => Promise<VerifiedJwt | undefined>

interface Rule extends VerificationKey {
  issuer: string
  audience: string[]
  toleranceSeconds: number
  required: string[]
  tenantClaim: string | undefined
}

const RESERVED_ISSUERS = new Set([STATIC_ISSUER, ANONYMOUS.issuer])
const NOT_CLAIMS = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'scope', 'scp', 'scopes'])
const MAX_NAME_LENGTH = 256

/** Answers nothing for a token of an issuer that no rule names; throws for one that breaks the rules of its issuer. */
export function createJwtVerifier(rules: readonly JwtRules[], tenant: string, clock: Pick<Clock, 'now'>): VerifyJwt {
  const byIssuer = Map.groupBy(
    rules.map((rule, index) => prepare(rule, `auth.jwt[${index}]`, clock)),
    (rule) => rule.issuer,
  )
  return async (token) => {
    const candidates = byIssuer.get(claimedIssuer(token) ?? '')
    if (!candidates) return undefined
    let refusal: unknown
    for (const rule of candidates) {
      try {
        const payload = await verify(token, rule, new Date(clock.now()))
        return { caller: callerOf(payload, rule, tenant), expiresAt: expiryOf(payload, rule) }
      } catch (error) {
        // With two keys of one issuer, "expired" from the key that fits says more than "bad signature" from the other.
        if (!(refusal instanceof errors.JWTExpired)) refusal = error
      }
    }
    throw refuse(refusal)
  }
}

function prepare(rule: JwtRules, where: string, clock: Pick<Clock, 'now'>): Rule {
  const audience = typeof rule.audience === 'string' ? [rule.audience] : [...(rule.audience ?? [])]
  if (!rule.issuer || RESERVED_ISSUERS.has(rule.issuer)) {
    throw new Fault('malformed', `${where}.issuer must be the "iss" of the tokens, such as https://login.example.`)
  }
  // It stands between issuer and subject where callers are told apart.
  if (rule.issuer.includes('|')) throw new Fault('malformed', `${where}.issuer must not hold "|"; no issuer should.`)
  if (audience.length === 0 || audience.includes('')) {
    throw new Fault('malformed', `${where}.audience must be the "aud" that tokens for this server carry.`)
  }
  return {
    ...createVerificationKey(rule.key, `${where}.key`, clock),
    issuer: rule.issuer,
    audience,
    toleranceSeconds: rule.clockToleranceSeconds ?? 5,
    required: rule.requireExpiry === false ? ['sub'] : ['sub', 'exp'],
    tenantClaim: rule.tenantClaim,
  }
}

/** Chooses the rules only; the same claim is checked again once the signature has proved it. */
function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    // Not a JWT at all: the same to its sender as one from an unknown issuer.
    return undefined
  }
}

async function verify(token: string, rule: Rule, currentDate: Date): Promise<JWTPayload> {
  const { algorithms, issuer, audience, toleranceSeconds: clockTolerance, required: requiredClaims } = rule
  const options = { algorithms, issuer, audience, clockTolerance, requiredClaims, currentDate }
  try {
    return (await jwtVerify(token, rule.key, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // A token without a key id, and a set with several keys of its kind: the one that fits is found by trying.
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

function callerOf(payload: JWTPayload, rule: Rule, tenant: string): Caller {
  const claims = Object.entries(payload).filter(([name]) => !NOT_CLAIMS.has(name) && name !== rule.tenantClaim)
  return {
    tenant: rule.tenantClaim === undefined ? tenant : nameIn(payload, rule.tenantClaim),
    issuer: rule.issuer,
    subject: nameIn(payload, 'sub'),
    scopes: scopesOf(payload),
    ...(claims.length > 0 && { claims: Object.fromEntries(claims) as JsonObject }),
  }
}

function nameIn(payload: JWTPayload, claim: string): string {
  const value = payload[claim]
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_LENGTH) return value
  throw new errors.JWTClaimValidationFailed(`"${claim}" must name somebody`, {}, claim, 'invalid')
}

/** RFC 8693 has `scope` as words in one text; other issuers write `scp` or `scopes`, as text or as a list. */
function scopesOf(payload: JWTPayload): string[] {
  const value = payload.scope ?? payload.scp ?? payload.scopes
  const words = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return words.filter((word) => typeof word === 'string' && word !== '')
}

function expiryOf(payload: JWTPayload, rule: Rule): number {
  return payload.exp === undefined ? Number.POSITIVE_INFINITY : (payload.exp + rule.toleranceSeconds) * 1000
}

/** jose's errors carry the claims, and those belong in no log: only their code and fixed text go on. */
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
