/** Reads the credential from a request's headers. `identify.ts` checks it. */
import { Fault } from '../../core/fault.ts'

export type CredentialScheme = 'bearer' | 'apiKey'

export interface Credential {
  scheme: CredentialScheme
  token: string
}

/** The carrier limits header fields. This limits the hashing and parsing of credentials from other sources. */
export const MAX_TOKEN_LENGTH = 16_384

/** OXP and OTC define their own headers for API keys. */
const KEY_HEADERS = ['x-api-key', 'oxp-api-key', 'otc-api-key']
const SUPPORTED = 'Send "Authorization: Bearer <token>" or "X-API-Key: <key>".'
// RFC 6750, "Authorization Request Header Field": one space or more, then b64token. The scheme is case-insensitive.
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
const API_KEY = /^[\x21-\x7e]+$/

/** Takes names in lower case. */
export type ReadHeader = (name: string) => string | undefined

/** The text of the Authorization field, if no other header could contain the credential. */
export function soleAuthorization(header: ReadHeader): string | undefined {
  for (const name of KEY_HEADERS) if (header(name) !== undefined) return undefined
  return header('authorization')
}

/** `undefined` if the request has no credential. */
export function readCredential(header: ReadHeader): Credential | undefined {
  const authorization = header('authorization')
  let apiKey: string | undefined
  for (const name of KEY_HEADERS) {
    const value = header(name)
    if (value === undefined) continue
    if (apiKey !== undefined) throw ambiguous()
    apiKey = value
  }
  if (authorization === undefined && apiKey === undefined) return undefined
  if (authorization !== undefined && apiKey !== undefined) throw ambiguous()
  const credential = authorization === undefined ? readApiKey(apiKey ?? '') : readBearer(authorization)
  if (!credential || credential.token.length > MAX_TOKEN_LENGTH) {
    throw new Fault('unauthenticated', `The credential was sent in a form that is not supported. ${SUPPORTED}`)
  }
  return credential
}

function ambiguous(): Fault {
  return new Fault('unauthenticated', `The request has two credentials; send only one. ${SUPPORTED}`)
}

function readBearer(value: string): Credential | undefined {
  const token = BEARER.exec(value)?.[1]
  return token === undefined ? undefined : { scheme: 'bearer', token }
}

function readApiKey(value: string): Credential | undefined {
  const token = value.trim()
  return API_KEY.test(token) ? { scheme: 'apiKey', token } : undefined
}
