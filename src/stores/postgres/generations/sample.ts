/**
 * Estimates from about two hundred rows how long the calls of a generation are kept. Ids begin with their time, so ids
 * at equal distances give calls from the whole time of the generation, at the cost of as many index lookups.
 */
import { ENDED } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import type { Tables } from '../tables.ts'
import { perGeneration } from './generations.ts'

export interface SampledCall {
  created_at: number
  keep_until: number
  ended: boolean
}

const POINTS = 200n
const HEAD_DIGITS = 16
const TAIL = '0'.repeat(16)

export type ReadSample = (session: Session, generation: number) => Promise<readonly SampledCall[]>

export function createSample({ calls }: Tables): ReadSample {
  const ends = perGeneration((generation) =>
    statement(`SELECT (SELECT id FROM ${calls(generation)} ORDER BY id LIMIT 1) AS first,
      (SELECT id FROM ${calls(generation)} ORDER BY id DESC LIMIT 1) AS last`),
  )
  const look = perGeneration((generation) =>
    statement(`SELECT call.created_at, call.keep_until, call.ended FROM unnest($1::uuid[]) AS p (point)
      CROSS JOIN LATERAL (SELECT created_at, keep_until, state IN (${ENDED}) AS ended FROM ${calls(generation)}
        WHERE id >= p.point AND alias_of IS NULL ORDER BY id LIMIT 1) AS call`),
  )

  return async (session, generation) => {
    const { rows } = await session.query<{ first: string | null; last: string | null }>(ends(generation))
    const [{ first, last } = { first: null, last: null }] = rows
    if (first === null || last === null) return []
    const [from, to] = [headOf(first), headOf(last)]
    const points = Array.from({ length: Number(POINTS) }, (_, at) => {
      const head = from + ((to - from) * BigInt(at)) / POINTS
      return head.toString(16).padStart(HEAD_DIGITS, '0') + TAIL
    })
    return (await session.query<SampledCall>(look(generation), [encodeArray('uuid', points)])).rows
  }
}

/** The first half of an id, as a number. */
function headOf(id: string): bigint {
  return BigInt(`0x${encodeId(id).slice(0, HEAD_DIGITS)}`)
}

/** The value that this share of the calls does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
