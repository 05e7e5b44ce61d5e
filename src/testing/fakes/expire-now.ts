/** Makes a store remove certain calls, in any state and before the end of their retention. */
import { STATES } from '../../core/call/state.ts'
import type { Store } from '../../core/ports/store.ts'

export async function expireNow(store: Store, ids: readonly string[]): Promise<void> {
  // The store first removes the calls with the earliest `keepUntil`.
  for (const id of ids) await store.advance({ id, from: STATES, to: 'complete', keepUntil: 0 })
  await store.expire(ids.length, async () => {})
}
