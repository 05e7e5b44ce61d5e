/**
 * Remembers what a remote tool was shown for a call that waits for its answer, sealed, for as long as the call lives: by
 * the time the answer comes the secret may have been changed, the token replaced and this process started anew.
 */
import type { Shown } from '../../core/ports/secrets.ts'
import type { Vault } from './vault.ts'

/** A token for every question that is asked adds up; of the oldest there is no answer to come any more. */
const MAX_VALUES = 100

/** `vault` is asked for when something is first kept. */
export function createShown(vault: () => Vault): Shown {
  const recall = async (id: string): Promise<readonly string[]> => {
    const kept = await vault().get(keyOf(id))
    return kept === undefined ? [] : (JSON.parse(kept) as string[])
  }
  return {
    recall,
    async keep(id, values, expiresAt) {
      const known = await recall(id)
      const all = [...new Set([...known, ...values])]
      if (all.length > known.length) {
        await vault().put(keyOf(id), JSON.stringify(all.slice(-MAX_VALUES)), expiresAt)
      }
    },
    forgetting: (id) => [{ key: keyOf(id) }],
  }
}

function keyOf(id: string): string {
  return `shown/${id}`
}
