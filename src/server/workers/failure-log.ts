/** Why the storage failed, in the log: callers in other processes hear what they can do about it, and not the cause. */
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'

export function createFailureLog(log: Log): (thrown: unknown) => void {
  /** All writes of a commit fail for one reason, which is said once. */
  const told = new WeakSet<object>()
  return (thrown) => {
    const cause = thrown instanceof Fault ? thrown.cause : thrown
    if (typeof cause !== 'object' || cause === null || told.has(cause)) return
    told.add(cause)
    log.error({ err: thrown }, 'the storage failed')
  }
}
