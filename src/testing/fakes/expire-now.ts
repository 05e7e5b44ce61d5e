/** Has a store remove certain calls, whatever state they are in and however long they would be kept. */

import { STATES } from '../../core/call/state.ts'
import type { Store } from '../../core/ports/store.ts'

export async function expireNow(store: Store, ids: readonly string[]): Promise<void> {
  // The store removes what has been past keeping longest.
  for (const id of ids) await store.advance({ id, from: STATES, to: 'complete', keepUntil: 0 })
  await store.expire(ids.length, async () => {})
}
