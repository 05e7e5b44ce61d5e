/**
 * Drops a closed generation whose calls are past their retention. It first goes through the generation in slices: the
 * server writes the audit entries of a slice to the audit table, and returns only the calls that need the node. These
 * are the calls that may have objects, those whose entry the server cannot make, and those that are still open or kept
 * for longer. The last ones are remembered, and moved to the kept ones in one short transaction. A process that stops in
 * between leaves the generation as it is, and another begins again: every step can be repeated.
 *
 * A call that has ended and is past its retention does not change any more, so that what a slice has seen holds.
 */

import { idAt } from '../../../core/call/id-time.ts'
import type { Audit } from '../audit.ts'
import { ENTRY_COLUMNS, type EntryRow, entryText } from '../audit-entries.ts'
import { ALIAS, ENDED, letterOf } from '../calls/rows.ts'
import { type Session, statement, transaction } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { KEPT, type Tables } from '../tables.ts'
import { type Generations, perGeneration } from './generations.ts'
import { LOCK_WAIT } from './rotation.ts'
import type { ReadSample } from './sample.ts'
import type { Surveyed } from './survey.ts'
import { lockKept } from './sweep.ts'

export interface RetirementParts {
  tables: Tables
  generations: Generations
  audit: Pick<Audit, 'archive'>
  sample: ReadSample
  /** The size below which a generation is small. */
  smallBytes: number
  now(): number
}

/** The share of calls that may be left when a generation is dropped. They are moved, which costs more than a removal. */
const FEW = 0.05
/** A small generation with at most this many calls need not wait for them. */
const FEW_CALLS = 1_000
/** More are not moved in one transaction. */
const MOST_MOVED = 50_000
const LOOK_AGAIN_MS = 60_000
/** Nodes learn within this time that a generation is emptied, so that none of them waits for its removal. */
const DROP_AFTER_MS = 10_000
/**
 * If a crash of the server loses the entries of a slice, it also loses all that was committed later, and the generation
 * is still there. So the commit need not wait for the disk. Compiling the statement takes longer than a slice.
 */
const SLICE_SETTINGS = statement(`SELECT set_config('synchronous_commit', 'off', true), set_config('jit', 'off', true)`)
const MOVE_LIMIT = statement("SET LOCAL statement_timeout = '60s'")

/** A call that needs the node. The last one of a slice is always among them. */
interface SliceRow extends EntryRow {
  /** It has ended and is past its retention. */
  over: boolean
  /** It may have objects. */
  stored: boolean
  /** Its audit entry is left to the node. */
  unwritten: boolean
  /** The number of calls in the slice. */
  calls: number
}

/**
 * A call has no objects if it came without attachments and returned a plain result at the first attempt. If its handler
 * has stored objects all the same, the outcome says so before the value. A call that an earlier version ended does not
 * say it: the hourly sweep finds its bytes. In the statement, its table is `c`.
 */
const HAS_NO_OBJECTS = `c.state = '${letterOf('complete')}' AND c.attempt <= 1 AND starts_with(c.outcome, '{"kind":"result","value":')
  AND (c.fixed IS NULL OR (strpos(c.fixed, '"media":') = 0 AND strpos(c.fixed, '"model":"stream"') = 0))`

interface Slice {
  rows: readonly SliceRow[]
  calls: number
}

/** A generation that is being read. */
interface Walk {
  generation: number
  /** The last id that was read. */
  after: string
  /** Calls that must outlive the generation. */
  left: Set<string>
}

export function createRetirement({ tables, generations, audit, sample, smallBytes, now }: RetirementParts) {
  const { calls, callers, due } = tables
  // A call whose caller is missing, as after a failover that lost it, stays: it must not end the walk.
  const slice = perGeneration((generation) =>
    statement(`WITH slice AS MATERIALIZED (
        SELECT ${ENTRY_COLUMNS}, c.over AND k.hash IS NOT NULL AS over, NOT coalesce(${HAS_NO_OBJECTS}, false) AS stored,
          CASE WHEN c.over AND k.hash IS NOT NULL AND c.audit IS NOT NULL THEN ${entryText()} END AS entry
        FROM (SELECT *, state IN (${ENDED}) AND keep_until <= $2 AS over FROM ${calls(generation)}
          WHERE id > $1 AND caller IS NOT NULL ORDER BY id LIMIT $3) AS c
        LEFT JOIN ${callers(generation)} k ON k.hash = c.caller),
      archived AS (INSERT INTO ${tables.audit} (id, tenant, owner, operation, ended_at, entry)
        SELECT id::text, tenant, owner, operation, ended_at, entry FROM slice WHERE entry IS NOT NULL ORDER BY id
        ON CONFLICT (tenant, id) DO NOTHING)
      SELECT * FROM (SELECT id, tenant, owner, request_id, operation, created_at, ended_at, audit, caller, args, fixed,
          over, stored, over AND audit IS NOT NULL AND entry IS NULL AS unwritten, (count(*) OVER ())::int AS calls,
          lead(id) OVER (ORDER BY id) IS NULL AS is_last FROM slice) AS s
      WHERE NOT over OR stored OR unwritten OR is_last ORDER BY id`),
  )
  const count = perGeneration((generation) =>
    statement(`SELECT count(*)::int AS calls FROM (SELECT FROM ${calls(generation)} LIMIT ${FEW_CALLS + 1}) AS seen`),
  )
  const setEmptied = statement(`UPDATE ${tables.generations} SET state = 'emptied', since = $2
    WHERE number = $1 AND state = 'closed'`)
  const forget = statement(`DELETE FROM ${tables.generations} WHERE number = $1 AND state = 'emptied'`)
  const moveCallers = perGeneration((generation) =>
    statement(`INSERT INTO ${callers(KEPT)} SELECT * FROM ${callers(generation)} WHERE hash = ANY (ARRAY(
      SELECT caller FROM ${calls(generation)} WHERE id = ANY ($1::uuid[]))) ON CONFLICT DO NOTHING`),
  )
  // An alias stays if its call stays or is elsewhere.
  const moveAliases = perGeneration((generation) =>
    statement(`WITH moved AS (DELETE FROM ${calls(generation)} a WHERE a.alias_of IS NOT NULL
        AND (a.alias_of = ANY ($1::uuid[]) OR NOT EXISTS (SELECT FROM ${calls(generation)} c WHERE c.id = a.alias_of))
        RETURNING *)
      INSERT INTO ${calls(KEPT)} SELECT * FROM moved`),
  )
  const move = perGeneration((generation) =>
    statement(`WITH moved AS (DELETE FROM ${calls(generation)} WHERE id = ANY ($1::uuid[]) RETURNING *)
      INSERT INTO ${calls(KEPT)} SELECT * FROM moved`),
  )
  const setSweep = statement(`UPDATE ${calls(KEPT)} SET sweep_at = keep_until WHERE id = ANY ($1::uuid[])`)
  const moveDue = statement(`UPDATE ${due} SET generation = ${KEPT} WHERE id = ANY ($1::uuid[])`)
  const removeAliases = (from: number, of: number) =>
    statement(`DELETE FROM ${calls(from)} a WHERE a.alias_of IS NOT NULL
      AND EXISTS (SELECT FROM ${calls(of)} c WHERE c.id = a.alias_of AND c.state <> '${ALIAS}')`)

  /** When each closed generation is looked at again. */
  const lookAt = new Map<number, number>()
  let walk: Walk | undefined

  async function isRipe(session: Session, closed: Surveyed): Promise<boolean> {
    const { number, bytes } = closed
    if ((lookAt.get(number) ?? 0) > now()) return false
    if (bytes < smallBytes) {
      const { rows } = await session.query<{ calls: number }>(count(number))
      if ((rows[0]?.calls ?? 0) <= FEW_CALLS) return true
    }
    const sampled = await sample(session, closed, now())
    if (sampled.left <= sampled.calls * FEW) return true
    lookAt.set(number, now() + LOOK_AGAIN_MS)
    return false
  }

  /** In one transaction, so that a call is always in exactly one place. */
  async function empty(session: Session, { generation, left }: Walk): Promise<void> {
    const ids = encodeArray('uuid', [...left].map(encodeId).sort())
    await transaction(session, async () => {
      await session.query(LOCK_WAIT)
      await session.query(MOVE_LIMIT)
      await session.query(lockKept(tables))
      const { count: emptied } = await session.query(setEmptied, [generation, now()])
      if (emptied === 0) return { commit: false, value: undefined }
      // Against all writers, and against those that are about to write a row in `due`.
      await session.query(statement(`LOCK TABLE ${calls(generation)} IN EXCLUSIVE MODE`))
      await session.query(moveCallers(generation), [ids])
      await session.query(moveAliases(generation), [ids])
      await session.query(move(generation), [ids])
      await session.query(setSweep, [ids])
      await session.query(moveDue, [ids])
      // Not the list that this node uses: until the commit, the generation still counts.
      for (const other of await generations.list(session)) await session.query(removeAliases(other, generation))
      return { commit: true, value: undefined }
    })
    await generations.refresh(session)
  }

  async function drop(session: Session, generation: number): Promise<void> {
    await transaction(session, async () => {
      await session.query(LOCK_WAIT)
      const { count: found } = await session.query(forget, [generation])
      if (found === 0) return { commit: false, value: undefined }
      await session.query(statement(`DROP TABLE IF EXISTS ${calls(generation)}, ${callers(generation)}`))
      return { commit: true, value: undefined }
    })
    lookAt.delete(generation)
  }

  return {
    /** A generation is being read. */
    get isUnderWay(): boolean {
      return walk !== undefined
    },

    /** Chooses one of the closed generations to read, if one is ripe. */
    async begin(session: Session, surveyed: readonly Surveyed[]): Promise<boolean> {
      // Another node may have dropped one of them since.
      const closed = surveyed.filter(({ number }) => generations.live.includes(number))
      if (walk && !closed.some(({ number }) => number === walk?.generation)) walk = undefined
      for (const each of walk ? [] : closed)
        if (!walk && (await isRipe(session, each))) walk = { generation: each.number, after: idAt(0), left: new Set() }
      return walk !== undefined
    },

    /** Writes the audit entries of the next calls of that generation, and returns those that need the node. */
    async archive(session: Session, limit: number): Promise<Slice> {
      if (walk && !generations.live.includes(walk.generation)) walk = undefined
      if (!walk) return { rows: [], calls: 0 }
      const { generation, after } = walk
      return transaction(session, async () => {
        await session.query(SLICE_SETTINGS)
        const { rows } = await session.query<SliceRow>(slice(generation), [after, now(), limit])
        return { commit: true, value: { rows, calls: rows[0]?.calls ?? 0 } }
      })
    },

    /** After the objects of these calls are removed. Empties the generation after the last slice. */
    async take(session: Session, { rows }: Slice, isLast: boolean): Promise<void> {
      if (!walk) return
      await audit.archive(
        session,
        rows.filter(({ unwritten }) => unwritten),
      )
      for (const { id, over } of rows) if (!over) walk.left.add(id)
      walk.after = rows.at(-1)?.id ?? walk.after
      if (walk.left.size > MOST_MOVED) lookAt.set(walk.generation, now() + LOOK_AGAIN_MS)
      else if (isLast) await empty(session, walk)
      else return
      walk = undefined
    },

    async dropEmptied(session: Session, surveyed: readonly Surveyed[]): Promise<void> {
      const isOld = ({ state, since }: Surveyed) => state === 'emptied' && since <= now() - DROP_AFTER_MS
      for (const { number } of surveyed.filter(isOld)) await drop(session, number)
    },
  }
}
