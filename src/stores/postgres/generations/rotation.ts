/**
 * Closes the current generation and opens the next one: about four times in the time for which calls are kept, so that a
 * quarter of them can be dropped at once, and an accept looks into few older generations. Several nodes may do it at
 * once: the statements are conditional.
 */
import { type Session, statement, transaction } from '../connect/session.ts'
import type { Tables } from '../tables.ts'
import type { Generations } from './generations.ts'
import type { ReadSample } from './sample.ts'
import type { Surveyed } from './survey.ts'

export interface RotationRules {
  /** A generation below this size is small: its calls are removed one by one. */
  smallBytes: number
  /** The shortest time between two rotations. */
  minAgeMs: number
  /** The same for small generations, whose callers would otherwise stay for ever. */
  smallAgeMs: number
  /** A generation of this size is closed early, unless there are many. */
  largeBytes: number
}

export const USUAL_ROTATION: RotationRules = {
  smallBytes: 16_000_000,
  minAgeMs: 60_000,
  smallAgeMs: 86_400_000,
  largeBytes: 4_000_000_000,
}

/** Generations in the time for which calls are kept. */
const SHARES = 4
/** Each older generation costs every accept a lookup. */
const MANY = 8
/** Calls that come later may be kept for another time. */
const LOOK_AGAIN_MS = 60_000
/** Writers wait behind a lock that waits, so it must not wait for long. The next round tries again. */
export const LOCK_WAIT = statement("SET LOCAL lock_timeout = '100ms'")

export interface RotationParts {
  tables: Tables
  generations: Generations
  sample: ReadSample
  rules: RotationRules
  now(): number
}

export function createRotation({ tables, generations, sample, rules, now }: RotationParts) {
  const { callsShape, callersShape } = tables
  const lockCurrent = statement(
    `SELECT number FROM ${tables.generations} WHERE number = $1 AND state = 'current' FOR UPDATE`,
  )
  const addNext = statement(`INSERT INTO ${tables.generations} (number, state, opened_at, since)
    VALUES ($1, 'next', $2, $2) ON CONFLICT DO NOTHING`)
  const setState = statement(`UPDATE ${tables.generations} SET state = $3, since = $4,
    opened_at = CASE $3 WHEN 'current' THEN $4 ELSE opened_at END WHERE number = $1 AND state = $2`)

  let lookAt = 0

  async function isDue(session: Session, current: Surveyed, live: number): Promise<boolean> {
    const { bytes, openedAt } = current
    const isSmall = bytes < rules.smallBytes
    const minAgeMs = isSmall ? rules.smallAgeMs : rules.minAgeMs
    if (bytes === 0 || now() - openedAt < minAgeMs || now() < lookAt) return false
    lookAt = now() + LOOK_AGAIN_MS
    const { oldestAt, keptMs } = await sample(session, current, now())
    if (oldestAt === null || keptMs === null) return false
    const ageMs = now() - Math.max(openedAt, oldestAt)
    const isLarge = bytes >= rules.largeBytes && live < MANY
    const leftMs = Math.max(minAgeMs, isLarge ? 0 : keptMs / SHARES) - ageMs
    lookAt = now() + Math.max(0, Math.min(leftMs, LOOK_AGAIN_MS))
    return leftMs <= 0
  }

  /** Ahead of its use, because the creation of a table takes longer than others should wait. */
  async function create(session: Session, current: number): Promise<void> {
    const next = current + 1
    await transaction(session, async () => {
      // One node at a time, so that two do not create the same table.
      const { rows } = await session.query(lockCurrent, [current])
      if (rows.length === 0) return { commit: false, value: undefined }
      await session.query(
        statement(
          `CREATE TABLE IF NOT EXISTS ${tables.calls(next)} (LIKE ${callsShape} INCLUDING ALL) WITH (fillfactor = 50)`,
        ),
      )
      await session.query(
        statement(`CREATE TABLE IF NOT EXISTS ${tables.callers(next)} (LIKE ${callersShape} INCLUDING ALL)`),
      )
      await session.query(addNext, [next, now()])
      return { commit: true, value: undefined }
    })
  }

  /**
   * The lock waits for the accepts under way, and later ones wait for it. Without it, an accept that has begun before
   * could commit a key after another node has looked for it in vain and accepted it in the next generation.
   */
  async function open(session: Session, current: number): Promise<void> {
    await transaction(session, async () => {
      await session.query(LOCK_WAIT)
      await session.query(statement(`LOCK TABLE ${tables.calls(current)} IN SHARE MODE`))
      const at = now()
      const closed = await session.query(setState, [current, 'current', 'closed', at])
      const opened = await session.query(setState, [current + 1, 'next', 'current', at])
      return { commit: closed.count === 1 && opened.count === 1, value: undefined }
    })
  }

  return {
    async rotate(session: Session, current: number): Promise<void> {
      await create(session, current)
      await open(session, current)
      await generations.refresh(session)
    },
    isDue,
  }
}
