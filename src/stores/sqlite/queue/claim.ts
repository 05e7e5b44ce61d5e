/**
 * Hands out due instances to workers, caller by caller. `DueCalls` picks the next caller, and the database picks the
 * next call of that caller. A claim reads only the calls that it hands out, however long the queues are.
 */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../../core/call/instance.ts'
import { SlotShares } from '../../../core/fairness/slot-shares.ts'
import { areSameKeys } from '../../../core/operation/names.ts'
import type { Claim, Claimed } from '../../../core/ports/store.ts'
import type { FreshInstances } from '../fresh-instances.ts'
import type { Action } from '../group-commit.ts'
import type { OpenCalls } from '../open-calls.ts'
import type { Owners } from '../owners.ts'
import { PAST_OF_TAKEN } from '../past.ts'
import type { Decode, InstanceRow } from '../rows.ts'
import type { DueCaller, DueCalls, DuePair } from './due-calls.ts'

/** Maintenance ends expired calls. */
const CLAIMABLE = "due_at IS NOT NULL AND state IN ('accepted', 'pending', 'streaming') AND expires_at > @at"

interface Candidate {
  id: string
  dueAt: number
}

interface DueRow {
  ref: number
  operation: string
  dueAt: number
}

export interface ClaimParts {
  fresh: FreshInstances
  openCalls: OpenCalls
  owners: Owners
  due: DueCalls
  decode: Decode
  now(): number
}

/**
 * How many calls of a queue are read first. Small, for many callers with one call each. Each further read is larger.
 */
const FIRST_READ = 4
/** Calls without a slot are read up to this number, however many callers have some. */
const ENOUGH_LACKING = 8

export function prepareClaim(db: Database, { fresh, openCalls, owners, due, decode, now }: ClaimParts) {
  const all = db.prepare<[], DueRow>(
    `SELECT owner AS ref, operation, min(due_at) AS dueAt FROM instances INDEXED BY instances_due
     WHERE due_at IS NOT NULL GROUP BY owner, operation`,
  )
  const ofPair = `FROM instances INDEXED BY instances_due WHERE ${CLAIMABLE} AND owner = @owner AND operation = @operation`
  const head = db.prepare<{ at: number; owner: number; operation: string; limit: number }, Candidate>(
    `SELECT id, due_at AS dueAt ${ofPair} AND due_at <= @at ORDER BY due_at LIMIT @limit`,
  )
  const next = db
    .prepare<{ at: number; owner: number; operation: string }, number>(
      `SELECT due_at ${ofPair} AND due_at > @at ORDER BY due_at LIMIT 1`,
    )
    .pluck()
  const children = db
    .prepare<[], string>(
      `WITH RECURSIVE queues (operation) AS (
         SELECT min(operation) FROM instances WHERE due_at IS NOT NULL AND lineage <> '[]'
         UNION ALL
         SELECT (SELECT min(operation) FROM instances
           WHERE due_at IS NOT NULL AND lineage <> '[]' AND operation > queues.operation)
         FROM queues WHERE operation IS NOT NULL)
       SELECT operation FROM queues WHERE operation IS NOT NULL`,
    )
    .pluck()
  const childHead = db.prepare<{ at: number; operation: string; limit: number }, Candidate>(
    `SELECT id, due_at AS dueAt FROM instances
     WHERE ${CLAIMABLE} AND operation = @operation AND due_at <= @at AND lineage <> '[]' ORDER BY due_at LIMIT @limit`,
  )
  const take = db.prepare<[number, number, string], InstanceRow>(
    `UPDATE instances SET state = iif(state = 'streaming', state, 'pending'), revision = revision + 1, attempt = attempt + 1,
       due_at = ?, begun_at = ?, past = ${PAST_OF_TAKEN}
     WHERE id = ? RETURNING *`,
  )
  let last: { keys: readonly string[]; set: ReadonlySet<string> } = { keys: [], set: new Set() }

  /** Cached, because nodes send the same operations each time: building a set of 500 takes 20 µs, comparing takes 1. */
  function known(operations: readonly string[]): ReadonlySet<string> {
    if (!areSameKeys(last.keys, operations)) last = { keys: [...operations], set: new Set(operations) }
    return last.set
  }

  function* dueRows() {
    for (const { ref, operation, dueAt } of all.all()) {
      const { tenant, owner } = owners.byRef(ref)
      yield { tenant, owner, operation, dueAt }
    }
  }

  /** The calls that one claim has read from each queue. */
  function createHeads(at: number) {
    const read = new Map<DuePair, { found: Candidate[]; limit: number; more: boolean }>()
    const refOf = ({ tenant, owner }: DueCaller) => owners.find(tenant, owner)?.ref
    const nextOf = ({ of, operation }: DuePair) => {
      const owner = refOf(of)
      return owner === undefined ? undefined : next.get({ at, owner, operation })
    }
    return {
      nextOf,
      /** The call that has been due longest. If there is none, the queue is settled. */
      first(pair: DuePair): Candidate | undefined {
        const before = read.get(pair)
        if (before?.found[0]) return before.found[0]
        const owner = before?.more === false ? undefined : refOf(pair.of)
        const limit = before ? before.limit * 4 : FIRST_READ
        const found = owner === undefined ? [] : head.all({ at, owner, operation: pair.operation, limit })
        read.set(pair, { found, limit, more: found.length === limit })
        if (found.length === 0) due.settle(pair, nextOf(pair))
        return found[0]
      },
      /** How many calls of the queue were read and not taken. */
      count(pair: DuePair): number {
        this.first(pair)
        return read.get(pair)?.found.length ?? 0
      },
      taken: (pair: DuePair) => void read.get(pair)?.found.shift(),
    }
  }

  /** Child calls come first and need no free slot, because the parent that waits for the child holds a slot. */
  function dueChildren(mine: ReadonlySet<string>, { limit }: Claim, at: number): Candidate[] {
    const operations = children.all().filter((operation) => mine.has(operation))
    const found = operations.flatMap((operation) => childHead.all({ at, operation, limit }))
    return found.sort((a, b) => a.dueAt - b.dueAt).slice(0, limit)
  }

  return {
    claim(claim: Claim): Action<Claimed> {
      return (changed) => {
        const at = now()
        const mine = known(claim.operations)
        if (due.isDoubtful) due.renew(dueRows())
        // Adds the changes of this transaction so far. `due` already has the committed ones.
        for (const instance of changed) due.note(instance)
        const instances: Instance[] = []
        const hand = ({ id }: Candidate) => {
          fresh.drop(id)
          const instance = decode(take.get(at + claim.leaseMs, at, id) as InstanceRow)
          openCalls.claimed(instance)
          instances.push(instance)
        }
        due.advance(at, mine)
        for (const child of dueChildren(mine, claim, at)) hand(child)
        const heads = createHeads(at)
        const left = claim.onlyChildren ? {} : handOutFairly(claim, mine, instances, heads, hand)
        changed.push(...instances)
        const nextDueAt = left.at ?? due.firstDue(mine, heads.nextOf)
        return {
          instances,
          ...(nextDueAt !== undefined && { nextDueAt }),
          ...(left.lacking && { lacking: left.lacking }),
        }
      }
    },
  }

  /** `at` is the due time of the next call, if the limit is reached. */
  function handOutFairly(
    { limit, slots, shares: snapshot, weights }: Claim,
    mine: ReadonlySet<string>,
    instances: readonly Instance[],
    heads: ReturnType<typeof createHeads>,
    hand: (candidate: Candidate) => void,
  ): { at?: number; lacking?: Claimed['lacking'] } {
    const room = new Map(slots)
    const shares = snapshot && SlotShares.from(snapshot)
    const lacking = new Map<string, number>()
    const countLacking = ({ pairs }: DueCaller) => {
      for (const pair of pairs.values()) {
        if (!pair.ready || room.get(pair.operation) !== 0 || !mine.has(pair.operation)) continue
        const before = lacking.get(pair.operation) ?? 0
        const more = before < ENOUGH_LACKING ? heads.count(pair) : 0
        if (more > 0) lacking.set(pair.operation, before + more)
      }
    }
    let at: number | undefined
    due.turns.give((caller) => {
      const can = [...caller.pairs.values()].filter(
        ({ ready, operation }) => ready && mine.has(operation) && (room.get(operation) ?? limit) > 0,
      )
      const admitted = !shares || shares.admits(caller)
      if (can.length > 0 && !admitted) return 'blocked'
      const [pair, candidate] = earliest(can, heads.first)
      if (!pair || !candidate) {
        if (admitted) countLacking(caller)
        return leave(caller)
      }
      if (instances.length >= limit) {
        at = candidate.dueAt
        return 'enough'
      }
      hand(candidate)
      heads.taken(pair)
      shares?.take(caller)
      const left = room.get(pair.operation)
      if (left !== undefined) room.set(pair.operation, left - 1)
      return 'used'
    }, weights)
    return { ...(at !== undefined && { at }), ...(lacking.size > 0 && { lacking: [...lacking] }) }
  }
}

function leave(caller: DueCaller): 'blocked' | 'idle' {
  for (const { ready } of caller.pairs.values()) if (ready) return 'blocked'
  caller.waits = false
  return 'idle'
}

/** A caller's calls run in the order in which they became due, across all operations. */
function earliest(
  pairs: readonly DuePair[],
  first: (pair: DuePair) => Candidate | undefined,
): [pair?: DuePair, candidate?: Candidate] {
  let found: [DuePair, Candidate] | [] = []
  for (const pair of pairs) {
    const candidate = first(pair)
    if (candidate && (!found[1] || candidate.dueAt < found[1].dueAt)) found = [pair, candidate]
  }
  return found
}
