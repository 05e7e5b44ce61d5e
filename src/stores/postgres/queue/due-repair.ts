/**
 * Corrects rows of `due` that disagree with their calls. The call decides: whether it is open, when it is due, and where
 * it is.
 */
import { isTerminal } from '../../../core/call/state.ts'
import type { CallReads } from '../calls/reads.ts'
import { decodeCall, OPEN } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import { groupBy, perGeneration } from '../generations/generations.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import type { Tables } from '../tables.ts'

/** Returns how many rows it removed, because their calls have ended or are gone. */
export type DueRepair = (session: Session, ids: readonly string[]) => Promise<number>

export function createDueRepair({ due, calls }: Tables, reads: CallReads): DueRepair {
  const remove = statement(`DELETE FROM ${due} WHERE id = ANY ($1::uuid[])`)
  // Under the lock of the call: otherwise an answer that makes the call due at the same moment would be undone.
  const correct = perGeneration((generation) =>
    statement(`WITH open AS (
      SELECT id, due_at, expires_at FROM ${calls(generation)} WHERE id = ANY ($1::uuid[]) AND state IN (${OPEN})
      FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE ${due} SET due_at = open.due_at, expires_at = open.expires_at, generation = ${generation}
    FROM open WHERE ${due}.id = open.id AND (${due}.due_at IS DISTINCT FROM open.due_at
      OR ${due}.expires_at <> open.expires_at OR ${due}.generation <> ${generation})`),
  )
  const listOf = (ids: readonly string[]) => encodeArray('uuid', ids.map(encodeId).sort())

  return async (session, ids) => {
    const rows = await reads.rows(session, ids)
    const open = [...rows.values()].filter((row) => !isTerminal(decodeCall(row).state))
    for (const [generation, group] of groupBy(open, (row) => row.generation))
      await session.query(correct(generation), [listOf(group.map(({ id }) => id))])
    const stands = new Set(open.map(({ id }) => id))
    // An ended call stays ended, so that its row can be removed without a lock.
    const gone = ids.filter((id) => !stands.has(id))
    return gone.length === 0 ? 0 : (await session.query(remove, [listOf(gone)])).count
  }
}
