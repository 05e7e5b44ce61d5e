/**
 * Whether a caller may run an operation: every scope the operation names must be among the caller's. A caller whose
 * scopes contain `*` has them all, the administrator's included.
 */
import { Fault } from '../core/fault.ts'
import type { Caller } from '../core/model.ts'
import type { Operation } from '../core/operation.ts'
import type { Guard } from '../core/ports.ts'

const ALL_SCOPES = '*'

export const scopesGuard: Guard = {
  admit(caller: Caller, operation: Operation): void {
    const required = operation.scopes
    if (required.length === 0 || caller.scopes.includes(ALL_SCOPES)) return
    const missing = required.filter((scope) => !caller.scopes.includes(scope))
    if (missing.length === 0) return
    throw new Fault(
      'forbidden',
      `${operation.name.full} needs the scope ${missing.join(', ')}. Use a credential that grants it, or ask whoever issues yours.`,
      { code: 'INSUFFICIENT_SCOPE', details: { required: [...required], missing } },
    )
  },
}
