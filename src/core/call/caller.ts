/** Who calls. */
import type { JsonObject } from '../json.ts'

export interface Caller {
  tenant: string
  issuer: string
  subject: string
  scopes: readonly string[]
  /** The caller's own user for whom the call acts. The caller vouches for it. */
  userId?: string
  /** Verified claims beyond those above, for policies. */
  claims?: JsonObject
  /** Set if the caller is logged in to the console. */
  session?: CallerSession
}

export interface CallerSession {
  expiresAt: number
  /** The session ends earlier if it is not used for this long. */
  idleSeconds: number
  /** The session can change nothing. */
  readOnly?: true
}

export const ANONYMOUS: Caller = { tenant: 'main', issuer: 'none', subject: 'anonymous', scopes: [] }

/** The owner of an instance as one string, which stores index and compare. */
export function ownerOf(caller: Caller): string {
  return `${caller.issuer}|${caller.subject}`
}

/** One text for a tenant and an owner in it. Texts that are only joined could be those of another pair. */
export function ownerKey(tenant: string, owner: string): string {
  return JSON.stringify([tenant, owner])
}
