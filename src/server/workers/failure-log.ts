/** Logs why the storage failed. Callers in other processes get advice, not the cause. */
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'

export function createFailureLog(log: Log): (thrown: unknown) => void {
  /** All writes of a commit fail for the same reason, which is logged once. */
  const told = new WeakSet<object>()
  return (thrown) => {
    const cause = thrown instanceof Fault ? thrown.cause : thrown
    if (typeof cause !== 'object' || cause === null || told.has(cause)) return
    told.add(cause)
    log.error({ err: thrown }, 'the storage failed')
  }
}
