/** The scopes of sessions: those of the caller, without the rights that the console does not need. */
import type { Caller } from '../../core/call/caller.ts'
import { SCOPES } from '../../core/operation/scopes.ts'

/** What the console's screens need. */
const OPERATOR: readonly string[] = [
  SCOPES.read,
  SCOPES.payloads,
  SCOPES.operate,
  SCOPES.replay,
  SCOPES.approve,
  SCOPES.audit,
  SCOPES.metrics,
]

/** The caller of a session acts as itself. An administrator keeps what the console's screens need, and no more. */
export function reduced(caller: Caller): Caller {
  return caller.scopes.includes(SCOPES.admin) ? asOperator(caller) : caller
}

/** The same caller with all that the console's screens need. */
export function asOperator(caller: Caller): Caller {
  const own = caller.scopes.filter((scope) => scope !== SCOPES.admin)
  return { ...caller, scopes: [...new Set([...own, ...OPERATOR])] }
}
