/**
 * Remembers the secrets that a remote tool received for a call whose result arrives later, so that they can be redacted
 * from it. They are stored sealed, for the lifetime of the call: until the result arrives, the secret may change, the
 * token may be replaced and this process may restart.
 */
import type { Shown } from '../../core/ports/secrets.ts'
import type { Vault } from './vault.ts'

/** Each request for the result of a long call may use a new token. A result no longer contains the oldest ones. */
const MAX_VALUES = 100

/** `vault` is called when a value is first stored. */
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
