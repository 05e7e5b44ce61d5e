/**
 * Estimates from about two hundred blocks of a generation how long its calls are kept, and how many of them must stay.
 * Every call has the same chance to be read. Calls at equal distances of their ids, which begin with their time, would
 * not do: one call after a quiet time would count for many. A generation with fewer blocks is read as a whole.
 */
import { ENDED } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import type { Tables } from '../tables.ts'
import { perGeneration } from './generations.ts'
import type { Surveyed } from './survey.ts'

export interface Sample {
  /** Those that were read. */
  calls: number
  /** Those that are open or not past their retention. */
  left: number
  /** When the oldest one was created. */
  oldestAt: number | null
  /** The time for which they are kept, apart from the longest ones. */
  keptMs: number | null
}

const BLOCKS = 200
/** As Postgres is usually built. With other blocks, only the number of those that are read differs. */
const BLOCK_BYTES = 8_192
/** Of the longest times for which calls are kept, a few exceptions do not count. */
const USUALLY = 0.95

export type ReadSample = (session: Session, generation: Surveyed, now: number) => Promise<Sample>

export function createSample({ calls }: Tables): ReadSample {
  const look = perGeneration((generation) =>
    statement(`SELECT count(*)::int AS calls,
        (count(*) FILTER (WHERE state NOT IN (${ENDED}) OR keep_until > $2))::int AS left, min(created_at) AS "oldestAt",
        percentile_disc(${USUALLY}) WITHIN GROUP (ORDER BY keep_until - created_at) AS "keptMs"
      FROM ${calls(generation)} TABLESAMPLE SYSTEM ($1::real) WHERE alias_of IS NULL`),
  )
  return async (session, { number, bytes }, now) => {
    const percent = Math.min(100, (100 * BLOCKS * BLOCK_BYTES) / bytes)
    const { rows } = await session.query<Sample>(look(number), [percent, now])
    return rows[0] as Sample
  }
}
