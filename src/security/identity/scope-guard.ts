/** Whether a caller may run an operation: every scope the operation names must be among the caller's. */

import type { Caller } from '../../core/caller.ts'
import { Fault } from '../../core/fault.ts'
import { unknownOperation } from '../../core/names.ts'
import type { Operation } from '../../core/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import { hasScope } from '../../core/scopes.ts'

export const scopesGuard: Guard = {
  admit(caller: Caller, operation: Operation): void {
    const required = operation.scopes
    if (required.length === 0) return
    const missing = required.filter((scope) => !hasScope(caller, scope))
    if (missing.length === 0) return
    // What is hidden from a caller is as if it were not there.
    if (operation.internal) throw unknownOperation(operation.name.full)
    throw new Fault(
      'forbidden',
      `${operation.name.full} needs the scope ${missing.join(', ')}. Use a credential that grants it, or ask whoever issues yours.`,
      { code: 'INSUFFICIENT_SCOPE', details: { required: [...required], missing } },
    )
  },
}
