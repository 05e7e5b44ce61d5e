/**
 * Removes calls past their retention one by one: the kept ones, and those of small generations. A generation that has
 * become large is left to `retirement.ts`.
 */
import type { Audit } from '../audit.ts'
import { ENTRY_COLUMNS, type EntryRow } from '../audit-entries.ts'
import type { CallReads } from '../calls/reads.ts'
import { ENDED, OPEN } from '../calls/rows.ts'
import { type Session, statement, transaction } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { KEPT, type Tables } from '../tables.ts'
import { type Generations, groupBy, perGeneration } from './generations.ts'
import { type Surveyed, surveyOf } from './survey.ts'

export interface SweepParts {
  tables: Tables
  generations: Generations
  reads: CallReads
  audit: Pick<Audit, 'archive'>
  /** The size below which a generation is small. */
  smallBytes: number
  now(): number
}

interface Over {
  id: string
  keep_until: number
  ended: boolean
}

interface Seen {
  surveyed: readonly Surveyed[]
  over: readonly Over[]
}

/** An open call past its retention is looked at again after this time. Its end brings it forward. */
const LOOK_AGAIN_MS = 60_000

export function createSweep({ tables, generations, reads, audit, smallBytes, now }: SweepParts) {
  const { calls, callers } = tables
  const kept = calls(KEPT)
  const postpone = statement(`UPDATE ${kept} SET sweep_at = greatest(keep_until, $2::bigint)
    WHERE id = ANY ($1::uuid[]) AND (keep_until > $3 OR state IN (${OPEN}))`)
  const call = 'NULL::integer, NULL, NULL::bigint, NULL::bigint, NULL::bigint, id, keep_until'
  // One statement for all, because an idle store is asked again and again. It reads small tables as a whole.
  const lookInto = (small: readonly number[]) =>
    statement(`${surveyOf(tables, 'NULL::uuid AS id, NULL::bigint AS keep_until, false AS ended')}
      UNION ALL SELECT * FROM (SELECT ${call}, state IN (${ENDED}) FROM ${kept}
        WHERE sweep_at <= $1 ORDER BY sweep_at LIMIT $2) AS kept
      ${small
        .map(
          (generation) => `UNION ALL SELECT * FROM (SELECT ${call}, true FROM ${calls(generation)}
        WHERE state IN (${ENDED}) AND keep_until <= $1 ORDER BY keep_until LIMIT $2) AS calls_${generation}`,
        )
        .join('\n')}`)
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

  const isSmall = ({ state, bytes }: Surveyed) => /current|closed/.test(state) && bytes > 0 && bytes < smallBytes
  /** As of the last look. */
  let look = { small: '', by: lookInto([]) }

  /** Looks at all generations, and into those that were small at the last look. */
  async function lookOnce(session: Session, at: number, limit: number): Promise<Seen & { isCurrent: boolean }> {
    const { small: looked, by } = look
    // If it fails because one of them was dropped, the next try begins with the list.
    look = { small: '', by: lookInto([]) }
    const { rows } = await session.query<Surveyed & Over>(by, [at, limit])
    const surveyed = rows.filter(({ id }) => id === null)
    const small = surveyed.filter(isSmall).map(({ number }) => number)
    const isCurrent = small.join() === looked
    look = { small: small.join(), by: isCurrent ? by : lookInto(small) }
    return { surveyed, over: rows.filter(({ id }) => id !== null), isCurrent }
  }

  return {
    /** All generations, and the calls to remove one by one, oldest first. */
    async look(session: Session, limit: number): Promise<{ surveyed: readonly Surveyed[]; ids: readonly string[] }> {
      const at = now()
      for (;;) {
        const { surveyed, over, isCurrent } = await lookOnce(session, at, limit)
        // Calls that are open, or that were extended since, are looked at later.
        const rest = over.filter(({ ended, keep_until }) => !ended || keep_until > at).map(({ id }) => id)
        if (rest.length > 0) await session.query(postpone, [listOf(rest), at + LOOK_AGAIN_MS, at])
        if (!isCurrent || rest.length > 0) continue
        const ordered = [...over].sort((a, b) => a.keep_until - b.keep_until)
        return { surveyed, ids: ordered.slice(0, limit).map(({ id }) => id) }
      }
    },

    /** Some of them may have moved or be gone since they were found. */
    remove: (session: Session, ids: readonly string[]): Promise<void> =>
      transaction(session, async () => {
        const found = await reads.revisions(session, ids)
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
