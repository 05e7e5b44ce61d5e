/** Figures of the whole server show the load of all tenants. In a server with one tenant, its operators see them. */
import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import { hasScope, SCOPES } from '../../core/operation/scopes.ts'

export interface WholeServerParts {
  /** True if callers can belong to several tenants. */
  hasTenants(): boolean
}

export function maySeeServer({ hasTenants }: WholeServerParts, caller: Caller): boolean {
  return !hasTenants() || hasScope(caller, SCOPES.metrics)
}

export function requireServerView(parts: WholeServerParts, caller: Caller): void {
  if (maySeeServer(parts, caller)) return
  throw new Fault(
    'forbidden',
    `This server can have several tenants, and this shows the load of all of them, which needs the scope ${SCOPES.metrics}. Ask for the scope.`,
    { details: { required: [SCOPES.metrics], missing: [SCOPES.metrics] } },
  )
}
