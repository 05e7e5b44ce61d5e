/**
 * Checks a caller's scopes, and defines the server's own scopes, which begin with `callplane:`. `*` covers all scopes
 * except the server's own. `callplane:admin` covers all of the server's own.
 */
import type { Caller } from '../call/caller.ts'

const ALL = '*'
const OURS = 'callplane:'

/** One scope for each administrative task, so that a credential can grant one without the others. */
export const SCOPES = {
  admin: 'callplane:admin',
  /** Reads the approvals with their arguments, and decides them. */
  approve: 'callplane:approve',
  /** Reads the audit trail. */
  audit: 'callplane:audit',
  /** Reads the counts of all tenants: `/metrics` and, in a server with several tenants, load and nodes. */
  metrics: 'callplane:metrics',
  /** Reads load and nodes of a server with one tenant, and lists and reads the calls of all callers in the tenant, without arguments and results. */
  read: 'callplane:read',
  /** Reads the arguments and results of those calls. */
  payloads: 'callplane:payloads',
  /** Cancels calls of other callers. */
  operate: 'callplane:operate',
  /** Runs a call of another caller again. */
  replay: 'callplane:replay',
} as const

/** Scopes that another one covers. The audit trail is a list of calls without arguments and results. */
const COVERED_BY: Readonly<Record<string, string>> = { [SCOPES.audit]: SCOPES.read }

export function hasScope({ scopes }: Caller, scope: string): boolean {
  if (scopes.includes(scope)) return true
  if (!scope.startsWith(OURS)) return scopes.includes(ALL)
  const wider = COVERED_BY[scope]
  return scopes.includes(SCOPES.admin) || (wider !== undefined && scopes.includes(wider))
}
