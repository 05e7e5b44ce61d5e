/** Who calls. */
import type { JsonObject } from './json.ts'

export interface Caller {
  tenant: string
  issuer: string
  subject: string
  scopes: readonly string[]
  /** The one of the caller's own users whom a call acts for, where it says so; the caller vouches for it. */
  userId?: string
  /** Verified claims beyond those above, for policies. */
  claims?: JsonObject
}

export const ANONYMOUS: Caller = { tenant: 'main', issuer: 'none', subject: 'anonymous', scopes: [] }

/** Who owns an instance, as one text: what stores index and compare. */
export function ownerOf(caller: Caller): string {
  return `${caller.issuer}|${caller.subject}`
}
