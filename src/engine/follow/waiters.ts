/**
 * Counts the connections that wait for each call. The same request may arrive on several connections and at several
 * processes of a server. The wait ends with the last of them.
 */
import { type Caller, ownerOf } from '../../core/call/caller.ts'

export interface Waiter extends Disposable {
  /** Stops waiting. True if no other connection waits for the call. Later calls return false. */
  leave(): Promise<boolean>
}

/** One instance for all carriers of a server. */
export interface Waiters {
  enter(caller: Caller, requestId: string): Waiter
}

/** `share` registers this process's lookup for the other processes, and returns a function that asks them. */
export function createWaiters(
  share?: (waitsHere: (key: string) => boolean) => (key: string) => Promise<boolean>,
): Waiters {
  const counts = new Map<string, number>()
  const waitsElsewhere = share?.((key) => counts.has(key))
  return {
    enter(caller, requestId) {
      const key = JSON.stringify([caller.tenant, ownerOf(caller), requestId])
      counts.set(key, (counts.get(key) ?? 0) + 1)
      let waits = true
      const leave = () => {
        if (!waits) return false
        waits = false
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
        return left === 0
      }
      return {
        leave: async () => leave() && !(await waitsElsewhere?.(key)),
        [Symbol.dispose]: () => void leave(),
      }
    },
  }
}
