/**
 * The key that verifies a JWT, and its allowed algorithms. The algorithms follow from the kind of key, never from the
 * token, so that a public key cannot be used as an HMAC secret.
 */
import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { fetchDocument } from '../outbound/documents.ts'

export type JwtKey =
  /** HS256; at least 32 bytes. */
  | { secret: string | Uint8Array }
  /** PEM: RS256, ES256 or EdDSA, depending on the key. */
  | { publicKey: string }
  | { jwk: JsonObject }
  | { jwks: { keys: JsonObject[] } }
  | ({ jwksUrl: string } & RemoteKeyOptions)

interface RemoteKeyOptions {
  /** How long fetched keys are used before they are fetched again. Default: 10 minutes. */
  maxAgeMs?: number
  /** The shortest time between two fetches after an unknown key id or a failure. Default: 30 seconds. */
  cooldownMs?: number
  /** Default: 5 seconds. */
  timeoutMs?: number
}

export interface VerificationKey {
  key: KeyObject | JWTVerifyGetKey
  algorithms: string[]
}

// RFC 7518, "HMAC with SHA-2 Functions": the key must be at least as long as the hash.
const MIN_SECRET_BYTES = 32
const EDDSA = ['EdDSA', 'Ed25519']
const SET_ALGORITHMS = ['RS256', 'ES256', ...EDDSA]

export function createVerificationKey(
  key: JwtKey,
  where: string,
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  remote: RemoteClient,
): VerificationKey {
  if ('secret' in key) return secretKey(key.secret, where)
  if ('publicKey' in key) return publicKey(() => createPublicKey(refusePrivate(key.publicKey, where)), where)
  if ('jwk' in key) return jwk(key.jwk, where)
  if ('jwks' in key && typeof key.jwks === 'string') {
    throw new Fault('malformed', `${where}.jwks must be a key set; give its address as "jwksUrl".`)
  }
  if ('jwks' in key) return { key: localSet(key.jwks as JSONWebKeySet, where), algorithms: SET_ALGORITHMS }
  if ('jwksUrl' in key) return { key: remoteSet(key, where, clock, remote), algorithms: SET_ALGORITHMS }
  throw new Fault('malformed', `${where} needs one of "secret", "publicKey", "jwk", "jwks" and "jwksUrl".`)
}

function secretKey(secret: string | Uint8Array, where: string): VerificationKey {
  const bytes = typeof secret === 'string' ? Buffer.from(secret, 'utf8') : Buffer.from(secret)
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new Fault('malformed', `${where}.secret has ${bytes.length} bytes; HS256 needs ${MIN_SECRET_BYTES} or more.`)
  }
  return { key: createSecretKey(bytes), algorithms: ['HS256'] }
}

function refusePrivate(pem: string, where: string): string {
  if (/PRIVATE KEY-----/.test(pem)) {
    throw new Fault(
      'malformed',
      `${where}.publicKey holds a private key. Keep it at the issuer, and set the public key here.`,
    )
  }
  return pem
}

function jwk(key: JsonObject, where: string): VerificationKey {
  if (key.kty === 'oct' && typeof key.k === 'string') return secretKey(Buffer.from(key.k, 'base64url'), `${where}.jwk`)
  if ('d' in key) throw new Fault('malformed', `${where}.jwk is a private key. Give the public one, without "d".`)
  return publicKey(() => createPublicKey({ key: key as JsonWebKey, format: 'jwk' }), where)
}

function publicKey(read: () => KeyObject, where: string): VerificationKey {
  const key = readKey(read, where)
  return { key, algorithms: algorithmsOf(key, where) }
}

function readKey(read: () => KeyObject, where: string): KeyObject {
  try {
    return read()
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('malformed', `${where} cannot be read as a key. Give a public key in PEM or as a JWK.`, {
      cause: error,
    })
  }
}

function algorithmsOf(key: KeyObject, where: string): string[] {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= 2048) return ['RS256']
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return ['ES256']
  if (key.asymmetricKeyType === 'ed25519') return EDDSA
  throw new Fault('malformed', `${where} must be an RSA key of 2048 bits or more, a P-256 key or an Ed25519 key.`)
}

function localSet(set: JSONWebKeySet, where: string): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(set)
  } catch (error) {
    throw new Fault('malformed', `${where}.jwks must be a JSON Web Key Set: {"keys": [...]}.`, { cause: error })
  }
}

/** Smaller differences are normal clock corrections. */
const CLOCK_SET_MS = 1_000

/**
 * jose caches the set, shares one fetch between concurrent requests, and limits fetches for unknown key ids. It does
 * not pause after a failed fetch, so this function does: otherwise every request would wait for an issuer that is down.
 */
function remoteSet(
  { jwksUrl, maxAgeMs = 600_000, cooldownMs = 30_000, timeoutMs = 5000 }: { jwksUrl: string } & RemoteKeyOptions,
  where: string,
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  client: RemoteClient,
): JWTVerifyGetKey {
  const url = parseKeyUrl(jwksUrl, where)
  const open = () =>
    createRemoteJWKSet(url, {
      cacheMaxAge: maxAgeMs,
      cooldownDuration: cooldownMs,
      timeoutDuration: timeoutMs,
      [customFetch]: (address, { headers, signal }) =>
        fetchDocument(client, address, { method: 'GET', headers: Object.fromEntries(headers), signal }),
    })
  const wallAhead = () => clock.now() - clock.monotonicMs()
  let remote = open()
  let aheadMs = wallAhead()
  let failure: { at: number; fault: Fault } | undefined
  return async (header, token) => {
    // jose uses the wall clock: after the clock was set back by an hour, it would fetch no new key for an hour.
    if (Math.abs(wallAhead() - aheadMs) > CLOCK_SET_MS) {
      aheadMs = wallAhead()
      remote = open()
    }
    if (failure && !remote.fresh && clock.monotonicMs() < failure.at + cooldownMs) throw failure.fault
    try {
      return await remote(header, token)
    } catch (error) {
      if (!isFetchFailure(error)) throw error
      const fault = new Fault('unavailable', 'The keys to verify tokens cannot be fetched. Try again later.', {
        code: 'AUTH_KEYS_UNAVAILABLE',
        retryAfterMs: cooldownMs,
        cause: new Error(`${jwksUrl} could not be fetched`, { cause: error }),
      })
      failure = { at: clock.monotonicMs(), fault }
      throw fault
    }
  }
}

/**
 * True for every error except "this set has no such key": a timeout, no connection, not 200, not JSON, not a key set.
 */
function isFetchFailure(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return (
    code !== 'ERR_JWKS_NO_MATCHING_KEY' &&
    code !== 'ERR_JWKS_MULTIPLE_MATCHING_KEYS' &&
    code !== 'ERR_JOSE_NOT_SUPPORTED'
  )
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

function parseKeyUrl(text: string, where: string): URL {
  const url = URL.parse(text)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname))) return url
  throw new Fault(
    'malformed',
    `${where}.jwksUrl must be an https address: otherwise an attacker could replace the keys and act as any caller.`,
  )
}
