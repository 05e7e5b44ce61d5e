/**
 * Marks of ended calls that an operator has dealt with: dismissed, or replayed. A mark is a record beside the call, which
 * itself never changes after its end. The keys of a tenant are in the order of the calls' ids.
 */
import type { JsonObject } from '../../../core/json.ts'
import type { RecordChange, Records } from '../../../core/ports/store.ts'

const PAGE = 1_000

export type Mark = { replay: string } | { dismissedBy: string; why: string }

interface Marked {
  tenant: string
  id: string
  /** The mark is not needed when the call is gone. */
  keepUntil: number
}

/** A call that was marked before can be marked again, unless `once`. */
export function marking({ tenant, id, keepUntil }: Marked, mark: Mark, once: boolean): RecordChange {
  const value = JSON.stringify(mark satisfies JsonObject)
  return { key: keyOf(tenant, id), value, expiresAt: keepUntil, ...(once && { expected: null }) }
}

/** Which of these calls are marked. The ids are in falling order. */
export async function markedOf(
  records: Pick<Records, 'list'>,
  tenant: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const marked = new Set<string>()
  const [highest, lowest] = [ids[0], ids.at(-1)]
  if (highest === undefined || lowest === undefined) return marked
  const prefix = keyOf(tenant, '')
  let last = justBelow(prefix + lowest)
  for (;;) {
    const found = await records.list(prefix, PAGE, last)
    for (const { key } of found) marked.add(key.slice(prefix.length))
    last = found.at(-1)?.key ?? last
    if (found.length < PAGE || last >= prefix + highest) return marked
  }
}

/** The last character of an id is a hex digit. The character before `0` sorts below all of them. */
function justBelow(key: string): string {
  return `${key.slice(0, -1)}${String.fromCharCode(key.charCodeAt(key.length - 1) - 1)}\u{10ffff}`
}

function keyOf(tenant: string, id: string): string {
  return `call-mark/${encodeURIComponent(tenant.toWellFormed())}/${id}`
}
