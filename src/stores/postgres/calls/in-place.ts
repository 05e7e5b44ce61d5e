/**
 * Changes calls where they are stored. A change names one generation: the one where this node knows the call to be, or
 * the one of the time in its id. If the call is elsewhere, it is looked up and changed there.
 */
import { SendAgain } from '../connect/failures.ts'
import type { Session } from '../connect/session.ts'
import { type Generations, groupBy } from '../generations/generations.ts'
import type { HeldCalls } from '../nodes/held-calls.ts'
import type { CallReads } from './reads.ts'
import type { CallRow } from './rows.ts'

export interface PlaceParts {
  reads: CallReads
  held: HeldCalls
  generations: Generations
}

/** A call moves once, when its generation is emptied. More rounds than this mean that something is wrong. */
const MOST_ROUNDS = 4

/**
 * `change` changes calls of one generation and returns the ids of those that it changed. Resolves with the current rows
 * of the calls that were found and not changed.
 */
export async function changeInPlace<V extends { id: string }>(
  session: Session,
  { reads, held, generations }: PlaceParts,
  values: readonly V[],
  change: (generation: number, values: readonly V[]) => Promise<{ has(id: string): boolean }>,
): Promise<ReadonlyMap<string, CallRow>> {
  const standing = new Map<string, CallRow>()
  const places = new Map(
    values.map(({ id }) => {
      const known = held.entry(id)?.generation
      const isLive = known !== undefined && generations.live.includes(known)
      return [id, isLive ? known : generations.guess(id)]
    }),
  )
  let open = values
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const left: V[] = []
    for (const [generation, group] of groupBy(open, ({ id }) => places.get(id) as number)) {
      const changed = await change(generation, group)
      left.push(...group.filter(({ id }) => !changed.has(id)))
    }
    if (left.length === 0) return standing
    const rows = await reads.rows(
      session,
      left.map(({ id }) => id),
    )
    open = left.filter(({ id }) => {
      const row = rows.get(id)
      if (!row || row.generation === places.get(id)) {
        if (row) standing.set(id, row)
        return false
      }
      places.set(id, row.generation)
      return true
    })
    if (open.length === 0) return standing
  }
  throw new SendAgain()
}
