/** Logs operations that are served, but not as tools. */
import type { Log } from '../../core/ports/runtime.ts'
import type { Omission } from '../../engine/registry.ts'

export function warnOfLeftOut(log: Log): (omission: Omission) => void {
  return ({ operation, why }) =>
    log.warn({ operation: operation.key, problem: why.message }, 'an operation is left out of the tools')
}
