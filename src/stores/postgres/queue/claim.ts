/**
 * Hands out due calls, caller by caller. The table `due` finds candidates: the callers that have due calls, and the
 * first calls of each. The turns are decided here, and the rows in `calls` decide whether a candidate is still due. So a
 * candidate that another node takes at the same moment is taken once.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { FairTurns } from '../../../core/fairness/fair-turns.ts'
import { SlotShares } from '../../../core/fairness/slot-shares.ts'
import type { Claim, Claimed } from '../../../core/ports/store.ts'
import { type CallRow, COLUMN_NAMES, columnsOf, decodeCall, OPEN } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'

export interface ClaimParts {
  tables: Tables
  claims: Batches
  newMark(): number
  now(): number
  /** After the commit. */
  claimed(instance: Instance, node: number | null): void
}

interface Candidate {
  id: string
  operation: string
  tenant: string
  owner: string
  due_at: number
}

/** A caller with due calls, in the order in which they became due. */
interface DueCaller {
  tenant: string
  owner: string
  calls: Candidate[]
  /** Operations of which more calls are due than were read. */
  cutOff: Set<string>
}

interface Look {
  callers: DueCaller[]
  nextDueAt: number | undefined
}

/**
 * How many calls of a caller and an operation are read first. Small, for many callers with one call each. Each further
 * read is larger.
 */
const FIRST_READ = 8
const MOST_READ = 512
/** If other nodes take candidates at the same moment, the claim looks again, at most this often. */
const MOST_ROUNDS = 8

export function createClaim({ tables, claims, newMark, now, claimed }: ClaimParts) {
  const { calls, due } = tables
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
    SELECT pairs.operation, pairs.tenant, pairs.owner, heads.id, heads.due_at, later.due_at AS next_due_at
    FROM pairs
    LEFT JOIN LATERAL (
      SELECT id, due_at FROM ${due} WHERE operation = pairs.operation AND tenant = pairs.tenant AND owner = pairs.owner
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
    SELECT heads.id FROM mine CROSS JOIN LATERAL (
      SELECT id, due_at FROM ${due} WHERE operation = mine.operation AND child AND due_at <= $2 AND expires_at > $2
      ORDER BY due_at LIMIT $3) AS heads ORDER BY heads.due_at LIMIT $3`)
  const take = statement(`WITH open AS (
      SELECT id FROM ${calls} WHERE id = ANY ($1::text[]) AND due_at <= $2 AND expires_at > $2 AND state IN (${OPEN})
      FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE ${calls} c SET state = CASE c.state WHEN 's' THEN c.state ELSE 'p' END, revision = c.revision + 1,
        attempt = c.attempt + 1, due_at = $3, mark = $4
      WHERE c.id = ANY (ARRAY(SELECT id FROM open)) RETURNING ${columnsOf('c')}
    ), moved AS (
      UPDATE ${due} SET due_at = $3, queued = false WHERE id = ANY (ARRAY(SELECT id FROM taken))
    ) SELECT ${COLUMN_NAMES} FROM taken`)
  const takenBefore = statement(`SELECT ${columnsOf('c')} FROM ${calls} c WHERE c.id = ANY ($1::text[]) AND c.mark = $2
    AND c.due_at > $3`)
  // The row in calls says when a candidate is due. Rows in due that say something else are corrected, under the lock of
  // the call: otherwise an answer that makes the call due at the same moment would be undone.
  const removeEnded = statement(`DELETE FROM ${due} WHERE id = ANY ($1::text[])
    AND NOT EXISTS (SELECT FROM ${calls} c WHERE c.id = ${due}.id AND c.state IN (${OPEN}))`)
  const repair = statement(`WITH open AS (
      SELECT id, due_at, expires_at FROM ${calls} WHERE id = ANY ($1::text[]) AND state IN (${OPEN})
      FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE ${due} SET due_at = open.due_at, expires_at = open.expires_at FROM open WHERE ${due}.id = open.id
      AND (${due}.due_at IS DISTINCT FROM open.due_at OR ${due}.expires_at <> open.expires_at)`)
  const turns = new FairTurns<string>()

  async function lookFor(session: Session, names: Buffer, at: number, each: number): Promise<Look> {
    type Row = {
      operation: string
      tenant: string
      owner: string
      id: string | null
      due_at: number
      next_due_at: number | null
    }
    const { rows } = await session.query<Row>(look, [names, at, each])
    const callers = new Map<string, DueCaller>()
    const counts = new Map<string, number>()
    let nextDueAt: number | undefined
    for (const row of rows) {
      if (row.next_due_at !== null) nextDueAt = Math.min(nextDueAt ?? row.next_due_at, row.next_due_at)
      if (row.id === null) continue
      const key = keyOf(row)
      const caller = callers.get(key) ?? { tenant: row.tenant, owner: row.owner, calls: [], cutOff: new Set() }
      callers.set(key, caller)
      caller.calls.push({ ...row, id: row.id })
      const count = (counts.get(`${row.operation}\n${key}`) ?? 0) + 1
      counts.set(`${row.operation}\n${key}`, count)
      if (count === each) caller.cutOff.add(row.operation)
    }
    const found = [...callers.values()]
    for (const caller of found) caller.calls.sort((a, b) => a.due_at - b.due_at)
    // New callers join in the order of their first calls.
    found.sort((a, b) => firstDue(a) - firstDue(b))
    return { callers: found, nextDueAt }
  }

  /** Takes those candidates that are still due. Others may have taken some of them. */
  async function takeAll(session: Session, ids: readonly string[], at: number, claim: Claim): Promise<Instance[]> {
    if (ids.length === 0) return []
    const mark = newMark()
    const values = [encodeArray('text', [...ids].sort()), at, at + claim.leaseMs, mark]
    let rows: CallRow[]
    try {
      rows = (await session.query<CallRow>(take, values)).rows
    } catch (thrown) {
      doubtful.push({ ids, mark })
      throw thrown
    }
    return receive(rows, ids)
  }

  /** In the order of the candidates. */
  function receive(rows: readonly CallRow[], ids: readonly string[]): Instance[] {
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.flatMap((id) => {
      const row = byId.get(id)
      if (!row) return []
      const instance = decodeCall(row)
      claimed(instance, row.node)
      return [instance]
    })
  }

  /** Claims whose answer was lost. Calls that carry their mark belong to this node. */
  const doubtful: { ids: readonly string[]; mark: number }[] = []

  async function resolveDoubts(session: Session): Promise<Instance[]> {
    const found: Instance[] = []
    while (doubtful[0]) {
      const { ids, mark } = doubtful[0]
      const { rows } = await session.query<CallRow>(takenBefore, [encodeArray('text', ids), mark, now()])
      found.push(...receive(rows, ids))
      doubtful.shift()
    }
    return found
  }

  async function run(session: Session, claim: Claim): Promise<Claimed> {
    const at = now()
    const instances = await resolveDoubts(session)
    const names = encodeArray('text', claim.operations.map(encodeText))
    const childIds = (await session.query<{ id: string }>(children, [names, at, claim.limit])).rows.map(({ id }) => id)
    instances.push(...(await takeAll(session, childIds, at, claim)))
    const budget = createBudget(claim)
    let leftAt: number | undefined
    let seen: Look | undefined
    for (let round = 0; !claim.onlyChildren && round < MOST_ROUNDS; round++) {
      seen = await lookFor(session, names, at, Math.min(FIRST_READ * 4 ** round, MOST_READ))
      const chosen = choose(turns, seen.callers, claim.limit - instances.length, budget)
      const taken = await takeAll(session, chosen.ids, at, claim)
      budget.confirm(taken)
      instances.push(...taken)
      leftAt = chosen.wantsMore ? at : chosen.leftAt
      const missed = chosen.ids.length - taken.length
      if (missed > 0) await correct(session, chosen.ids, taken)
      if (missed === 0 && !chosen.wantsMore) break
    }
    const nextDueAt = leftAt ?? (await nextDue(session, names, at, seen, instances.length > 0 && at + claim.leaseMs))
    return { instances, ...(nextDueAt !== undefined && { nextDueAt }) }
  }

  /** `leasedUntil` is when the calls handed out are due again. */
  async function nextDue(
    session: Session,
    names: Buffer,
    at: number,
    seen: Look | undefined,
    leasedUntil: number | false,
  ): Promise<number | undefined> {
    const { nextDueAt } = seen ?? (await lookFor(session, names, at, 1))
    return leasedUntil === false ? nextDueAt : Math.min(nextDueAt ?? leasedUntil, leasedUntil)
  }

  async function correct(session: Session, ids: readonly string[], taken: readonly Instance[]): Promise<void> {
    const got = new Set(taken.map(({ id }) => encodeText(id)))
    const missed = ids.filter((id) => !got.has(id))
    for (const each of [removeEnded, repair]) await session.query(each, [encodeArray('text', missed)])
  }

  return (claim: Claim): Promise<Claimed> => alone(claims, 'claim', (session) => run(session, claim))
}

function keyOf({ tenant, owner }: { tenant: string; owner: string }): string {
  return `${tenant.length} ${tenant}${owner}`
}

function firstDue({ calls }: DueCaller): number {
  return calls[0]?.due_at ?? 0
}

/** What the claim may still take: slots of operations, and shares of callers. */
function createBudget({ slots, shares: snapshot, weights, limit }: Claim) {
  const room = new Map([...(slots ?? [])].map(([operation, free]) => [encodeText(operation), free]))
  const shares = snapshot && SlotShares.from(snapshot)
  const promised = new Map<string, Candidate>()
  const who = ({ tenant, owner }: { tenant: string; owner: string }) => ({
    tenant: decodeText(tenant),
    owner: decodeText(owner),
  })
  return {
    weights,
    has: ({ operation }: Candidate) => (room.get(operation) ?? limit) > 0,
    admits: (caller: DueCaller) => !shares || shares.admits(who(caller)),
    take(candidate: Candidate): void {
      promised.set(candidate.id, candidate)
      const left = room.get(candidate.operation)
      if (left !== undefined) room.set(candidate.operation, left - 1)
      shares?.take(who(candidate))
    },
    /** Gives back what was meant for candidates that another node took. */
    confirm(taken: readonly Instance[]): void {
      for (const { id } of taken) promised.delete(encodeText(id))
      for (const candidate of promised.values()) {
        const left = room.get(candidate.operation)
        if (left !== undefined) room.set(candidate.operation, left + 1)
        shares?.give(who(candidate))
      }
      promised.clear()
    },
  }
}

interface Chosen {
  ids: string[]
  /** The due time of the next call, if the limit was reached. */
  leftAt: number | undefined
  /** A caller has more due calls than were read. */
  wantsMore: boolean
}

function choose(
  turns: FairTurns<string>,
  callers: readonly DueCaller[],
  room: number,
  budget: ReturnType<typeof createBudget>,
): Chosen {
  const byKey = new Map(callers.map((caller) => [keyOf(caller), caller]))
  for (const caller of callers) if (turns.get(caller) === undefined) turns.add(caller, keyOf(caller))
  const ids: string[] = []
  let leftAt: number | undefined
  let wantsMore = false
  turns.give((key) => {
    const caller = byKey.get(key)
    if (!caller) return 'idle'
    // A call that was not read may be earlier than those that were.
    if (isCutOff(caller)) {
      wantsMore = ids.length > 0
      return wantsMore ? 'enough' : 'blocked'
    }
    if (caller.calls.length === 0) return 'idle'
    const at = caller.calls.findIndex((call) => budget.has(call))
    const candidate = caller.calls[at]
    if (!candidate || !budget.admits(caller)) return 'blocked'
    if (ids.length >= room) {
      leftAt = candidate.due_at
      return 'enough'
    }
    ids.push(candidate.id)
    caller.calls.splice(at, 1)
    budget.take(candidate)
    return 'used'
  }, budget.weights)
  return { ids, leftAt, wantsMore }
}

/** True if all calls of an operation that were read are used up, and there are more. */
function isCutOff({ calls, cutOff }: DueCaller): boolean {
  for (const operation of cutOff) if (!calls.some((call) => call.operation === operation)) return true
  return false
}
