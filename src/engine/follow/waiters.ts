/**
 * Who waits for which call: the same request may come over several connections, to several processes of a server, and
 * it is over with the last of them.
 */
import { type Caller, ownerOf } from '../../core/caller.ts'

export interface Waiter extends Disposable {
  /** Waits no more; whether nobody else does either. Once only: after that it says no. */
  leave(): Promise<boolean>
}

/** One for all carriers of a server. */
export interface Waiters {
  enter(caller: Caller, requestId: string): Waiter
}

/** `share` lets other processes ask who waits here, and gives what asks them. */
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
