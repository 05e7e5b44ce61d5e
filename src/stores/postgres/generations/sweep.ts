/**
 * Removes calls past their retention one by one: the kept ones, and those of small generations. A generation that has
 * become large is left to `retirement.ts`.
 */
import { type Audit, ENTRY_COLUMNS, type EntryRow } from '../audit.ts'
import { ENDED, OPEN } from '../calls/rows.ts'
import { type Session, statement, transaction } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { KEPT, type Tables } from '../tables.ts'
import { type Generations, groupBy, perGeneration } from './generations.ts'

export interface SweepParts {
  tables: Tables
  generations: Generations
  audit: Audit
  now(): number
}

interface Over {
  id: string
  generation: number
  keep_until: number
}

/** An open call past its retention is looked at again after this time. Its end brings it forward. */
const LOOK_AGAIN_MS = 60_000

export function createSweep({ tables, generations, audit, now }: SweepParts) {
  const { calls, callers } = tables
  const kept = calls(KEPT)
  const swept = statement(`SELECT id, keep_until, state IN (${ENDED}) AS ended FROM ${kept}
    WHERE sweep_at <= $1 ORDER BY sweep_at LIMIT $2`)
  const postpone = statement(`UPDATE ${kept} SET sweep_at = greatest(keep_until, $2::bigint)
    WHERE id = ANY ($1::uuid[]) AND (keep_until > $3 OR state IN (${OPEN}))`)
  // Reads the whole table, which is small.
  const over = perGeneration((generation) =>
    statement(`SELECT id, keep_until FROM ${calls(generation)}
      WHERE state IN (${ENDED}) AND keep_until <= $1 ORDER BY keep_until LIMIT $2`),
  )
  const remove = perGeneration((generation) =>
    statement(`DELETE FROM ${calls(generation)} c USING ${callers(generation)} k
      WHERE c.id = ANY ($1::uuid[]) AND c.state IN (${ENDED}) AND c.keep_until <= $2 AND k.hash = c.caller
      RETURNING ${ENTRY_COLUMNS}, c.caller AS caller_hash`),
  )
  const removeAliases = perGeneration((generation) =>
    statement(`DELETE FROM ${calls(generation)} WHERE alias_of = ANY ($1::uuid[])`),
  )
  const removeCallers = statement(`DELETE FROM ${callers(KEPT)} k WHERE k.hash = ANY ($1::uuid[])
    AND NOT EXISTS (SELECT FROM ${kept} c WHERE c.caller = k.hash)`)
  const listOf = (ids: readonly string[]) => encodeArray('uuid', ids.map(encodeId).sort())

  /** Calls that were extended since are put back on the way. */
  async function overKept(session: Session, at: number, limit: number): Promise<Over[]> {
    for (;;) {
      type Row = { id: string; keep_until: number; ended: boolean }
      const { rows } = await session.query<Row>(swept, [at, limit])
      const isOver = ({ ended, keep_until }: Row) => ended && keep_until <= at
      const rest = rows.filter((row) => !isOver(row)).map(({ id }) => id)
      if (rest.length === 0) return rows.map(({ id, keep_until }) => ({ id, keep_until, generation: KEPT }))
      await session.query(postpone, [listOf(rest), at + LOOK_AGAIN_MS, at])
    }
  }

  return {
    /** The calls to remove from these generations, oldest first. */
    async find(session: Session, small: readonly number[], limit: number): Promise<readonly Over[]> {
      const at = now()
      const found = await overKept(session, at, limit)
      for (const generation of small) {
        const { rows } = await session.query<Omit<Over, 'generation'>>(over(generation), [at, limit])
        found.push(...rows.map((row) => ({ ...row, generation })))
      }
      return found.sort((a, b) => a.keep_until - b.keep_until).slice(0, limit)
    },

    remove: (session: Session, found: readonly Over[]): Promise<void> =>
      transaction(session, async () => {
        const entries: (EntryRow & { caller_hash: string })[] = []
        for (const [generation, group] of groupBy(found, (each) => each.generation)) {
          if (generation === KEPT) await session.query(lockKept(tables))
          const { rows } = await session.query<(typeof entries)[number]>(remove(generation), [
            listOf(group.map(({ id }) => id)),
            now(),
          ])
          entries.push(...rows)
          if (generation === KEPT) await session.query(removeCallers, [listOf(rows.map((row) => row.caller_hash))])
        }
        // An alias is in the generation that was current when it was made.
        await generations.refresh(session)
        const gone = listOf(entries.map(({ id }) => id))
        for (const generation of generations.live) await session.query(removeAliases(generation), [gone])
        await audit.archive(
          session,
          entries.filter(({ audit }) => audit !== null),
        )
        return { commit: true, value: undefined }
      }),
  }
}

/** So that no caller is removed while calls of it are being moved to the kept ones. */
export const lockKept = ({ generations }: Tables) =>
  statement(`SELECT FROM ${generations} WHERE number = ${KEPT} FOR UPDATE`)
