/**
 * Which scopes a caller has. `*` stands for all but those that begin with `callplane:`, which are the administrator's:
 * each must be had by its name, or as `callplane:admin`, which stands for all of those.
 */
import type { Caller } from './caller.ts'

const ALL = '*'
const OURS = 'callplane:'
export const ADMIN_SCOPE = 'callplane:admin'

export function hasScope({ scopes }: Caller, scope: string): boolean {
  return scopes.includes(scope) || scopes.includes(scope.startsWith(OURS) ? ADMIN_SCOPE : ALL)
}
