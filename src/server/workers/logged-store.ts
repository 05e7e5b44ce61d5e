/** A store that logs why it failed: callers in other processes hear what they can do about it, and not the cause. */
import { Fault } from '../../core/fault.ts'
import type { Log, Store } from '../../core/ports.ts'

type Method = (...args: unknown[]) => unknown

export function logFailures(store: Store, log: Log): Store {
  /** All writes of a commit fail for one reason, which is said once. */
  const told = new WeakSet<object>()

  function note(thrown: unknown): void {
    const cause = thrown instanceof Fault ? thrown.cause : thrown
    if (typeof cause !== 'object' || cause === null || told.has(cause)) return
    told.add(cause)
    log.error({ err: thrown }, 'the storage failed')
  }

  function logged<T extends object>(part: T): T {
    const members = Object.entries(part).map(([name, member]: [string, object | Method]) => [
      name,
      typeof member === 'function' ? noting(member as Method) : logged(member),
    ])
    return Object.fromEntries(members) as T
  }

  function noting(method: Method): Method {
    return (...args) => {
      const result = method(...args)
      // Beside what is returned: whoever waits for that is told no later.
      if (result instanceof Promise) result.catch(note)
      return result
    }
  }

  return logged(store)
}
