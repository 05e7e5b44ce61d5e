/**
 * Static bearer tokens and API keys. The configuration contains only their SHA-256. A fast hash is safe here, unlike
 * for passwords: a token has 256 random bits, so it cannot be guessed from its hash.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { Credential, CredentialScheme } from './presented-credential.ts'

export interface StaticToken {
  /** `sha256:` and 64 hex digits, as `hashToken` writes it. */
  hash: string
  kind: CredentialScheme
  subject: string
  scopes: readonly string[]
  /** A date or a date and time in ISO 8601, such as 2027-01-31 or 2027-01-31T12:00:00Z. */
  expiresAt?: string
  tenant?: string
}

/** The issuer of callers with a static token. No JWT issuer may have this name. */
export const STATIC_ISSUER = 'callplane'

const ALGORITHM = 'sha256:'
const HASH = /^sha256:[0-9a-f]{64}$/
/** 32 characters hold 128 random bits even as hex. A shorter token could be guessed from a stolen hash. */
const MIN_PLAIN_LENGTH = 32

export function hashToken(token: string): string {
  return `${ALGORITHM}${hash('sha256', token, 'hex')}`
}

/** The token is shown to a person once. The hash goes into the configuration. */
export function createToken(): { token: string; hash: string } {
  const token = `cp_${randomBytes(32).toString('base64url')}`
  return { token, hash: hashToken(token) }
}

/** Removes a plain token from the environment, so that neither this process nor its children keep it. */
export function takeEnvironmentToken(
  environment: Record<string, string | undefined>,
  variable: string,
  grants: Omit<StaticToken, 'hash'>,
): StaticToken | undefined {
  const token = environment[variable]
  if (token === undefined || token === '') return undefined
  delete environment[variable]
  if (token.length < MIN_PLAIN_LENGTH) {
    throw new Fault(
      'malformed',
      `${variable} is too short to be safe: use at least ${MIN_PLAIN_LENGTH} random characters, for example from "openssl rand -hex 32".`,
    )
  }
  return { ...grants, hash: hashToken(token) }
}

/** The caller that a credential identifies. */
export interface Proved {
  caller: Caller
  /** The time from which the credential is invalid. */
  expiresAt: number
}

export type FindToken = (credential: Credential, now: number) => Proved | undefined

/**
 * Looks up tokens by the hash of the sent text. A caller cannot steer that hash towards a stored one, so the time of
 * the lookup reveals nothing about the tokens.
 */
export function createTokenFinder(tokens: readonly StaticToken[], tenant: string): FindToken {
  const known: Record<CredentialScheme, Map<string, Proved>> = {
    bearer: new Map(),
    apiKey: new Map(),
  }
  for (const [index, token] of tokens.entries()) {
    const where = `auth.tokens[${index}]`
    checkToken(token, where)
    const ofKind = known[token.kind]
    if (ofKind.has(token.hash))
      throw new Fault('malformed', `${where} has the same hash as an earlier token: remove one.`)
    const { subject, scopes } = token
    const caller: Caller = { tenant: token.tenant ?? tenant, issuer: STATIC_ISSUER, subject, scopes: [...scopes] }
    ofKind.set(token.hash, { caller, expiresAt: parseExpiry(token.expiresAt, where) })
  }
  return ({ scheme, token }, now) => {
    const found = known[scheme].get(hashToken(token))
    if (found && now >= found.expiresAt) throw expiredCredential()
    return found
  }
}

export function expiredCredential(): Fault {
  return new Fault('unauthenticated', 'The credential has expired. Get a new one and send the call again.', {
    details: { reason: 'expired' },
  })
}

function checkToken(token: StaticToken, where: string): void {
  if (!HASH.test(token.hash)) {
    throw new Fault(
      'malformed',
      `${where}.hash must be "sha256:" and 64 hex digits, as "hashToken" writes it. If this is the token itself, create a new one, because this one was stored in a file.`,
    )
  }
  if (token.kind !== 'bearer' && token.kind !== 'apiKey') {
    throw new Fault('malformed', `${where}.kind must be "bearer" or "apiKey".`)
  }
  if (!token.subject) throw new Fault('malformed', `${where}.subject must name the owner of the token.`)
  if (!Array.isArray(token.scopes)) {
    throw new Fault('malformed', `${where}.scopes must be a list, such as ["orders:read"]; [] for none.`)
  }
}

function parseExpiry(expiresAt: string | undefined, where: string): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY
  const at = Date.parse(expiresAt)
  if (Number.isNaN(at)) {
    throw new Fault('malformed', `${where}.expiresAt must be a date such as 2027-01-31, not "${expiresAt}".`)
  }
  return at
}
