/** The statements that hand out due calls to this node. `taking.ts` sends them. */
import { PAST_OF_TAKEN } from '../calls/past.ts'
import { COLUMN_NAMES, columnsOf, OPEN } from '../calls/rows.ts'
import { type Statement, statement } from '../connect/session.ts'
import { perGeneration } from '../generations/generations.ts'
import type { Tables } from '../tables.ts'

type TakeIn = (generation: number) => Statement

export interface Takes {
  /**
   * The call's row in `due` goes, as if this node had just accepted the call. The lock on the node's row keeps others
   * from taking over its calls meanwhile.
   */
  remove: TakeIn
  /** The same, and returns only the ids and revisions. */
  removeKnown: TakeIn
  /** The row in `due` moves to the end of the lease, which makes a new entry in each of its indexes. */
  move: TakeIn
}

export function createTakes(tables: Tables): Takes {
  const { due } = tables
  const takes = (removes: boolean, known: boolean) =>
    perGeneration((generation) => {
      const calls = tables.calls(generation)
      const me = removes ? `me AS MATERIALIZED (SELECT FROM ${tables.nodes} WHERE node = $5 FOR KEY SHARE), ` : ''
      const taken = 'id = ANY (ARRAY(SELECT id FROM taken))'
      const returned = known ? 'c.id, c.revision' : `${columnsOf(generation)}, open.node AS accepted_by`
      const caller = known ? '' : `, ${tables.callers(generation)} k`
      return statement(`WITH ${me}open AS (
        SELECT id, node FROM ${calls} WHERE id = ANY ($1::uuid[]) AND due_at <= $2 AND expires_at > $2
          AND state IN (${OPEN}) ${removes ? 'AND EXISTS (SELECT FROM me)' : ''}
        FOR NO KEY UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE ${calls} c SET state = CASE c.state WHEN 's' THEN c.state ELSE 'p' END, revision = c.revision + 1,
          attempt = c.attempt + 1, due_at = $3, mark = $4, node = $5, begun_at = $2, past = ${PAST_OF_TAKEN}
        FROM open${caller}
        WHERE c.id = open.id ${known ? '' : 'AND k.hash = c.caller'} RETURNING ${returned}
      ), ${removes ? `gone AS (DELETE FROM ${due} WHERE ${taken})` : `moved AS (UPDATE ${due} SET due_at = $3, queued = false WHERE ${taken})`}
      SELECT ${known ? 'id, revision' : `${COLUMN_NAMES}, accepted_by`} FROM taken`)
    })
  return { remove: takes(true, false), removeKnown: takes(true, true), move: takes(false, false) }
}
