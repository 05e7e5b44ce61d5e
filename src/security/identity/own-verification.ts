/** The application's own authentication. Its result is checked like any input from outside. */

import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Presented } from '../../core/ports/guard.ts'
import { STATIC_ISSUER } from './tokens.ts'

/** A caller that the application has identified. */
export interface VerifiedCaller {
  subject: string
  /** Default: none. */
  scopes?: readonly string[]
  /** Default: `auth.tenant`. */
  tenant?: string
  /** Distinguishes callers with the same subject. Default: `application`. */
  issuer?: string
  /** For policies and handlers. */
  claims?: JsonObject
}

/**
 * Returns `undefined` for a request without a credential of the application. `tokens` and `jwt` are then tried, if
 * configured. A `Fault` of kind `unauthenticated` refuses an invalid credential.
 */
export type VerifyCaller = (presented: Presented) => Verified | Promise<Verified>

type Verified = VerifiedCaller | null | undefined

/** The issuer of callers for whom the application names none. No JWT issuer may have this name. */
export const APPLICATION_ISSUER = 'application'

const MAX_NAME_LENGTH = 256

/** A value that is not a caller is a bug in the application: an error, not a refusal. */
export function callerFrom(returned: VerifiedCaller, tenant: string, where = 'auth.verify'): Caller {
  const mistaken = (what: string) => new Error(`${where} ${what}.`)
  if (!isJsonObject(returned as unknown as JsonValue)) throw mistaken('must return a caller or undefined')
  const { subject, scopes = [], tenant: own = tenant, issuer = APPLICATION_ISSUER, claims } = returned
  for (const [field, value] of Object.entries({ subject, tenant: own, issuer })) {
    if (typeof value !== 'string' || value === '' || value.length > MAX_NAME_LENGTH) {
      throw mistaken(`must return a "${field}" of 1 to ${MAX_NAME_LENGTH} characters`)
    }
  }
  // "|" separates issuer and subject where callers are identified.
  if (issuer.includes('|') || issuer === STATIC_ISSUER || issuer === ANONYMOUS.issuer) {
    throw mistaken(`must not return the issuer "${issuer}"`)
  }
  if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== 'string')) {
    throw mistaken('must return "scopes" as a list of texts')
  }
  return { tenant: own, issuer, subject, scopes: [...scopes], ...(claims && { claims }) }
}
