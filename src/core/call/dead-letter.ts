/** Dead letters: calls that ended for a reason that is not their caller's. An operator may run them again. */
import type { FaultKind } from '../fault.ts'

/** The kinds of faults that make a call a dead letter. */
export const DEAD_KINDS: readonly FaultKind[] = [
  'timeout',
  'upstream',
  'internal',
  'outcome-unknown',
  'credential-invalid',
  'credential-forbidden',
  'credential-expired',
]

export function isDead(kind: FaultKind): boolean {
  return DEAD_KINDS.includes(kind)
}
