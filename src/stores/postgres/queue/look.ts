/** Finds candidates in the table `due`: the callers that have due calls, and the first calls of each. */
import { type Session, statement } from '../connect/session.ts'
import type { Tables } from '../tables.ts'
import { type Candidate, type DueCaller, inOrder, keyOf, type Place } from './choice.ts'

export interface Look {
  callers: DueCaller[]
  nextDueAt: number | undefined
  /** Some calls may be children, which go first. */
  children: boolean
}

export function createLook({ due }: Tables) {
  // Jumps from operation to operation and from caller to caller in the index, so that long queues cost nothing.
  const operations = `WITH RECURSIVE queues (operation) AS (
      SELECT (SELECT min(operation) FROM ${due} WHERE due_at IS NOT NULL)
      UNION ALL
      SELECT (SELECT min(operation) FROM ${due} WHERE due_at IS NOT NULL AND operation > queues.operation)
      FROM queues WHERE queues.operation IS NOT NULL
    ), mine AS MATERIALIZED (
      SELECT operation FROM queues WHERE operation = ANY ($1::text[])
    )`
  const look = statement(`${operations}, pairs (operation, tenant, owner) AS (
      SELECT mine.operation, first.tenant, first.owner FROM mine CROSS JOIN LATERAL (
        SELECT tenant, owner FROM ${due} WHERE operation = mine.operation AND due_at IS NOT NULL
        ORDER BY tenant, owner LIMIT 1) AS first
      UNION ALL
      SELECT pairs.operation, later.tenant, later.owner FROM pairs CROSS JOIN LATERAL (
        SELECT tenant, owner FROM ${due} WHERE operation = pairs.operation AND due_at IS NOT NULL
          AND (tenant, owner) > (pairs.tenant, pairs.owner) ORDER BY tenant, owner LIMIT 1) AS later
    )
    SELECT pairs.operation, pairs.tenant, pairs.owner, heads.id, heads.generation, heads.due_at,
      later.due_at AS next_due_at, (SELECT EXISTS (SELECT FROM ${due} WHERE child AND due_at IS NOT NULL)) AS children
    FROM pairs
    LEFT JOIN LATERAL (
      SELECT id, generation, due_at FROM ${due} WHERE operation = pairs.operation AND tenant = pairs.tenant AND owner = pairs.owner
        AND due_at <= $2 AND expires_at > $2 ORDER BY due_at LIMIT $3) AS heads ON true
    LEFT JOIN LATERAL (
      SELECT due_at FROM ${due} WHERE operation = pairs.operation AND tenant = pairs.tenant AND owner = pairs.owner
        AND due_at > $2 AND expires_at > $2 ORDER BY due_at LIMIT 1) AS later ON true`)
  const children = statement(`WITH RECURSIVE queues (operation) AS (
      SELECT (SELECT min(operation) FROM ${due} WHERE child AND due_at IS NOT NULL)
      UNION ALL
      SELECT (SELECT min(operation) FROM ${due} WHERE child AND due_at IS NOT NULL AND operation > queues.operation)
      FROM queues WHERE queues.operation IS NOT NULL
    ), mine AS MATERIALIZED (SELECT operation FROM queues WHERE operation = ANY ($1::text[]))
    SELECT heads.id, heads.generation, mine.operation, heads.tenant, heads.owner FROM mine CROSS JOIN LATERAL (
      SELECT id, generation, tenant, owner, due_at FROM ${due} WHERE operation = mine.operation AND child AND due_at <= $2 AND expires_at > $2
      ORDER BY due_at LIMIT $3) AS heads ORDER BY heads.due_at LIMIT $3`)

  /** At most `each` calls of a caller and an operation. */
  async function lookFor(session: Session, names: Buffer, at: number, each: number): Promise<Look> {
    const { rows } = await session.query<LookRow>(look, [names, at, each])
    const callers = new Map<string, DueCaller>()
    let nextDueAt: number | undefined
    /** The calls of a caller and an operation come one after the other. */
    let last: { operation: string; caller: DueCaller; count: number } | undefined
    for (const row of rows) {
      if (row.next_due_at !== null) nextDueAt = Math.min(nextDueAt ?? row.next_due_at, row.next_due_at)
      if (!isFound(row)) continue
      const { operation, tenant, owner } = row
      if (last?.operation !== operation || last.caller.tenant !== tenant || last.caller.owner !== owner) {
        const caller = callers.get(keyOf(row)) ?? { tenant, owner, calls: [], cutOff: new Set() }
        callers.set(keyOf(row), caller)
        last = { operation, caller, count: 0 }
      }
      last.caller.calls.push(row)
      if (++last.count === each) last.caller.cutOff.add(operation)
    }
    return { callers: inOrder([...callers.values()]), nextDueAt, children: rows[0]?.children ?? false }
  }

  return {
    lookFor,
    async childrenOf(session: Session, names: Buffer, at: number, limit: number): Promise<readonly Place[]> {
      return (await session.query<Place>(children, [names, at, limit])).rows
    },
  }
}

/** A due call of a caller, or none, and when the caller's next call is due. */
interface LookRow extends Omit<Candidate, 'id'> {
  id: string | null
  next_due_at: number | null
  children: boolean
}

function isFound(row: LookRow): row is LookRow & Candidate {
  return row.id !== null
}
