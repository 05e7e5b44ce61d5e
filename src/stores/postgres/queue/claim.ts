/**
 * Hands out due calls, caller by caller. The table `due` finds candidates: the callers that have due calls, and the
 * first calls of each. The turns are decided here, and the rows in `calls` decide whether a candidate is still due. So a
 * candidate that another node takes at the same moment is taken once.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { FairTurns } from '../../../core/fairness/fair-turns.ts'
import type { Claim, Claimed } from '../../../core/ports/store.ts'
import type { CallReads } from '../calls/reads.ts'
import { type CallRow, decodeCall } from '../calls/rows.ts'
import { SendAgain } from '../connect/failures.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, groupBy } from '../generations/generations.ts'
import type { FreshCalls, FreshFields } from '../nodes/fresh-calls.ts'
import { encodeArray } from '../sql/arrays.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { choose, createBudget, lackingIn, type Place } from './choice.ts'
import type { DueRepair } from './due-repair.ts'
import { createLook, type Look } from './look.ts'
import type { QueuedHere } from './queued-here.ts'
import { createTakes } from './takes.ts'

export interface ClaimParts {
  tables: Tables
  claims: Batches
  generations: Generations
  reads: CallReads
  repair: DueRepair
  fresh: FreshCalls
  queuedHere: QueuedHere
  /** The number of this node. */
  node(): number
  /** A statement found that this node is not among the living ones. */
  missing(session: Session, node: number): Promise<void>
  newMark(): number
  now(): number
  /** After the commit. */
  claimed(taken: Taken): void
}

/** A call that this node has claimed. */
interface Taken {
  instance: Instance
  /** Where it is. */
  generation: number
  /** The node that accepted it. `null`: this one. */
  acceptedBy: number | null
}

/** A claim as it was sent. */
interface Sent {
  at: number
  leaseMs: number
  node: number
  mark: number
}

/**
 * How many calls of a caller and an operation are read first. Small, for many callers with one call each. Each further
 * read is larger.
 */
const FIRST_READ = 8
const MOST_READ = 512
/** If other nodes take candidates at the same moment, the claim looks again, at most this often. */
const MOST_ROUNDS = 8

export function createClaim(parts: ClaimParts) {
  const { tables, claims, generations, reads, repair, fresh, queuedHere, missing, newMark, now } = parts
  const thisNode = parts.node
  const { lookFor, childrenOf } = createLook(tables)
  const { remove, removeKnown, move } = createTakes(tables)
  const membership = statement(`SELECT FROM ${tables.nodes} WHERE node = $1`)
  const turns = new FairTurns<string>()
  /** The callers with due calls at the last look. Infinite after none, because many may come at once. */
  let callersSeen = Number.POSITIVE_INFINITY

  async function lookAgain(session: Session, names: Buffer, at: number, each: number): Promise<Look> {
    const seen = await lookFor(session, names, at, each)
    callersSeen = seen.callers.length || Number.POSITIVE_INFINITY
    return seen
  }

  /** Takes those candidates that are still due. Others may have taken some of them. */
  async function takeAll(session: Session, places: readonly Place[], at: number, claim: Claim): Promise<Instance[]> {
    if (places.length === 0) return []
    const sent = { at, leaseMs: claim.leaseMs, node: thisNode(), mark: newMark() }
    const ids = places.map(({ id }) => id)
    const isLive = ({ generation }: Place) => generations.live.includes(generation)
    if (!places.every(isLive)) await generations.refresh(session)
    const live = places.filter(isLive)
    const held = new Set(live.filter((place) => fresh.claim(freshOf(place, sent))))
    const taken: Taken[] = []
    try {
      const others = live.filter((place) => !held.has(place))
      const unknown = [...held].filter(({ id }) => !queuedHere.has(id))
      const known = [...held].filter(({ id }) => queuedHere.has(id))
      for (const row of await takeEach<TakenRow>(session, others, sent, move)) taken.push(takenOf(row))
      for (const row of await takeEach<TakenRow>(session, unknown, sent, remove)) taken.push(takenOf(row))
      taken.push(...(await takeKnown(session, known, sent)))
      const got = new Set(taken.map(({ instance }) => instance.id))
      if (held.size > 0 && ![...held].some(({ id }) => got.has(id))) await requireMembership(session, sent.node)
    } catch (thrown) {
      doubtful.push({ ids, mark: sent.mark })
      for (const { id } of held) fresh.doubt(id)
      throw thrown
    }
    const instances = receive(taken, ids)
    const got = new Set(instances.map(({ id }) => id))
    for (const { id } of held) if (!got.has(id)) fresh.refused(id)
    return instances
  }

  /** Takes calls that this node has put into the queue. Those that were changed since are read. */
  async function takeKnown(session: Session, places: readonly Place[], sent: Sent): Promise<Taken[]> {
    const rows = await takeEach<{ id: string; revision: number }>(session, places, sent, removeKnown)
    const generationOf = new Map(places.map(({ id, generation }) => [id, generation]))
    const taken: Taken[] = []
    const changed: string[] = []
    for (const { id, revision } of rows) {
      const instance = queuedHere.take(id, { revision, dueAt: sent.at + sent.leaseMs })
      if (instance) taken.push({ instance, generation: generationOf.get(id) as number, acceptedBy: null })
      else changed.push(id)
    }
    if (changed.length === 0) return taken
    // Another node may have ended one of them since.
    for (const row of (await reads.rows(session, changed)).values())
      if (row.mark === sent.mark) taken.push({ ...takenOf(row), acceptedBy: null })
    return taken
  }

  async function takeEach<R>(
    session: Session,
    places: readonly Place[],
    { at, leaseMs, mark, node }: Sent,
    takeIn: (generation: number) => Statement,
  ): Promise<R[]> {
    const rows: R[] = []
    for (const [generation, group] of groupBy(places, (place) => place.generation)) {
      const list = group.map(({ id }) => id).sort()
      const values = [encodeArray('uuid', list), at, at + leaseMs, mark, node]
      rows.push(...(await session.query<R>(takeIn(generation), values)).rows)
    }
    return rows
  }

  async function requireMembership(session: Session, node: number): Promise<void> {
    if ((await session.query(membership, [node])).count > 0) return
    await missing(session, node)
    throw new SendAgain()
  }

  /** In the order of the candidates. */
  function receive(taken: readonly Taken[], ids: readonly string[]): Instance[] {
    const byId = new Map(taken.map((each) => [each.instance.id, each]))
    return ids.flatMap((id) => {
      const each = byId.get(id)
      if (!each) return []
      fresh.claimed(each.instance)
      parts.claimed(each)
      return [each.instance]
    })
  }

  /** Claims whose answer was lost. Calls that carry their mark belong to this node. */
  const doubtful: { ids: readonly string[]; mark: number }[] = []

  async function resolveDoubts(session: Session): Promise<Instance[]> {
    const found: Instance[] = []
    while (doubtful[0]) {
      const { ids, mark } = doubtful[0]
      const rows = [...(await reads.rows(session, ids)).values()]
      const isOurs = (row: CallRow) => row.mark === mark && row.due_at !== null && row.due_at > now()
      found.push(...receive(rows.filter(isOurs).map(takenOf), ids))
      doubtful.shift()
    }
    return found
  }

  /** Few callers with long queues are read at once, and many with one call each in small pieces. */
  function firstRead(limit: number): number {
    return Math.min(Math.max(FIRST_READ, Math.ceil(limit / callersSeen) + 1), MOST_READ)
  }

  async function run(session: Session, claim: Claim): Promise<Claimed> {
    const at = now()
    const instances = await resolveDoubts(session)
    const names = encodeArray('text', claim.operations.map(encodeText))
    const first = firstRead(claim.limit)
    let seen = claim.onlyChildren ? undefined : await lookAgain(session, names, at, first)
    // Usually nothing is due. Then this is the only statement of the claim.
    if (seen?.callers.length === 0 && instances.length === 0) return { instances, ...optional(seen.nextDueAt) }
    const waitedFor = seen?.children === false ? [] : await childrenOf(session, names, at, claim.limit)
    const resumed = await takeAll(session, waitedFor, at, claim)
    if (resumed.length < waitedFor.length) await correct(session, waitedFor, resumed)
    instances.push(...resumed)
    const budget = createBudget(claim)
    let leftAt: number | undefined
    let lacking: Claimed['lacking']
    for (let round = 0; !claim.onlyChildren && round < MOST_ROUNDS; round++) {
      if (!seen || round > 0 || waitedFor.length > 0)
        seen = await lookAgain(session, names, at, Math.min(first * 4 ** round, MOST_READ))
      const chosen = choose(turns, seen.callers, claim.limit - instances.length, budget)
      const taken = await takeAll(session, chosen.calls, at, claim)
      budget.confirm(taken)
      instances.push(...taken)
      leftAt = chosen.wantsMore ? at : chosen.leftAt
      lacking = lackingIn(seen.callers, budget)
      const missed = chosen.calls.length - taken.length
      if (missed > 0) await correct(session, chosen.calls, taken)
      if (missed === 0 && !chosen.wantsMore) break
    }
    const nextDueAt = leftAt ?? (await nextDue(session, names, at, seen, instances.length > 0 && at + claim.leaseMs))
    return { instances, ...optional(nextDueAt), ...(lacking && { lacking }) }
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

  async function correct(session: Session, calls: readonly Place[], taken: readonly Instance[]): Promise<void> {
    const got = new Set(taken.map(({ id }) => id))
    const missed = calls.filter(({ id }) => !got.has(id)).map(({ id }) => id)
    await repair(session, missed)
  }

  return (claim: Claim): Promise<Claimed> => alone(claims, 'claim', (session) => run(session, claim))
}

/** `node` is this one. */
type TakenRow = CallRow & { accepted_by?: number | null }

function takenOf(row: TakenRow): Taken {
  return { instance: decodeCall(row), generation: row.generation, acceptedBy: row.accepted_by ?? row.node }
}

function freshOf({ id, operation, tenant, owner }: Place, { at, leaseMs }: Sent): FreshFields {
  const who = { tenant: decodeText(tenant), owner: decodeText(owner) }
  return { id, operation: decodeText(operation), ...who, dueAt: at + leaseMs, expiresAt: Number.POSITIVE_INFINITY }
}

const optional = (nextDueAt: number | undefined) => (nextDueAt === undefined ? {} : { nextDueAt })
