/** Checks that a caller has every scope that an operation requires. */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import { unknownOperation } from '../../core/operation/names.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { hasScope } from '../../core/operation/scopes.ts'
import type { Guard } from '../../core/ports/guard.ts'

export const scopesGuard: Guard = {
  admit(caller: Caller, operation: Operation, name = operation.name.full): void {
    const required = operation.scopes
    if (required.length === 0) return
    const missing = required.filter((scope) => !hasScope(caller, scope))
    if (missing.length === 0) return
    // A hidden operation looks the same as one that does not exist.
    if (operation.internal) throw unknownOperation(name)
    throw new Fault(
      'forbidden',
      `${operation.name.full} needs the scope ${missing.join(', ')}. Use a credential that grants it, or ask the issuer of your credential for it.`,
      { code: 'INSUFFICIENT_SCOPE', details: { required: [...required], missing } },
    )
  },
}
