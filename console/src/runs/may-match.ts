import type { CallFilter, Change } from '../api/types.ts'

/**
 * A call that cannot match is not announced as new. Other parts of a filter are the server's to judge. A change names
 * the exact version of its operation, and a name without a version stands for all of them.
 */
export function mayMatch(
  { operation: wanted, state: states }: CallFilter,
  { operation, state }: Pick<Change, 'operation' | 'state'>,
): boolean {
  if (states && !states.some((one) => one === state)) return false
  if (wanted === undefined) return true
  if (wanted.endsWith('*')) return operation.startsWith(wanted.slice(0, -1))
  return operation === wanted || operation.startsWith(`${wanted}@`)
}
