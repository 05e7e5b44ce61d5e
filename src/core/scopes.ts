/**
 * Which scopes a caller has. `*` stands for all of them, and `callplane:admin` for all that begin with `callplane:`.
 * Those are the administrator's, so `*` has them only where somebody has said who they are.
 */
import { ANONYMOUS, type Caller } from './model.ts'

const ALL = '*'
const OURS = 'callplane:'
export const ADMIN_SCOPE = 'callplane:admin'

export function hasScope({ scopes, issuer }: Caller, scope: string): boolean {
  if (scopes.includes(scope)) return true
  if (!scope.startsWith(OURS)) return scopes.includes(ALL)
  return scopes.includes(ADMIN_SCOPE) || (scopes.includes(ALL) && issuer !== ANONYMOUS.issuer)
}
