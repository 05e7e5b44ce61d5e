/**
 * Hands out due calls, caller by caller. The table `due` finds candidates: the callers that have due calls, and the
 * first calls of each. Calls that wait at this node are candidates, too. The turns are decided here, `taking.ts` takes
 * the calls of `due`, and `waiting-here.ts` hands out its own.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { FairTurns } from '../../../core/fairness/fair-turns.ts'
import type { Claim, Claimed } from '../../../core/ports/store.ts'
import type { Session } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { choose, createBudget, lackingIn, merged, type Place } from './choice.ts'
import type { DueRepair } from './due-repair.ts'
import { createLook, type Look } from './look.ts'
import { createTaking, type TakingParts } from './taking.ts'
import type { WaitingHere } from './waiting-here.ts'

export interface ClaimParts extends TakingParts {
  claims: Batches
  repair: DueRepair
  waitingHere: WaitingHere
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
  const { tables, claims, repair, waitingHere, now } = parts
  const { lookFor, childrenOf } = createLook(tables)
  const { takeAll, resolveDoubts } = createTaking(parts)
  const turns = new FairTurns<string>()
  const namesOf = createNames()
  /** The callers with due calls at the last look. Infinite after none, because many may come at once. */
  let callersSeen = Number.POSITIVE_INFINITY

  async function lookAgain(session: Session, { names, operations }: Names, at: number, each: number): Promise<Look> {
    waitingHere.looking(operations)
    const seen = await lookFor(session, names, at, each)
    callersSeen = seen.callers.length || Number.POSITIVE_INFINITY
    waitingHere.looked(at, seen)
    // Others have written rows for this node's calls if they took it for dead.
    for (const { calls } of seen.callers) for (const { id } of calls) waitingHere.drop(id)
    return seen
  }

  /** Few callers with long queues are read at once, and many with one call each in small pieces. */
  function firstRead(limit: number): number {
    return Math.min(Math.max(FIRST_READ, Math.ceil(limit / callersSeen) + 1), MOST_READ)
  }

  /**
   * Calls that were taken. If a later statement of their claim fails, the next try hands them out. Their leases may be
   * nearly over by then, which the worker sees.
   */
  let unreported: Instance[] = []

  async function run(session: Session, claim: Claim): Promise<Claimed> {
    const at = now()
    await resolveDoubts(session, unreported)
    const claimed = await claimInto(unreported, session, claim, at)
    unreported = []
    return claimed
  }

  async function claimInto(instances: Instance[], session: Session, claim: Claim, at: number): Promise<Claimed> {
    const wanted = namesOf(claim.operations)
    const { names, operations } = wanted
    const first = firstRead(claim.limit)
    instances.push(...waitingHere.handOutStopped(at, claim.leaseMs))
    const last = claim.onlyChildren ? undefined : waitingHere.lastLook(operations, at)
    let seen = last?.seen
    if (!seen && !claim.onlyChildren) seen = await lookAgain(session, wanted, at, first)
    // Usually nothing is due. Then this is the only statement of the claim.
    if (seen?.callers.length === 0 && waitingHere.size === 0 && instances.length === 0)
      return { instances, ...optional(seen.nextDueAt) }
    const waitedFor = seen?.children === false ? [] : await childrenOf(session, names, at, claim.limit)
    const resumed = await takeAll(session, waitedFor, at, claim)
    if (resumed.length < waitedFor.length) await correct(session, waitedFor, resumed)
    instances.push(...resumed)
    const budget = createBudget(claim)
    let leftAt: number | undefined
    let lacking: Claimed['lacking']
    let askAgainAt = last?.until
    for (let round = 0; !claim.onlyChildren && round < MOST_ROUNDS; round++) {
      if (!seen || round > 0 || waitedFor.length > 0) {
        seen = await lookAgain(session, wanted, at, Math.min(first * 4 ** round, MOST_READ))
        askAgainAt = undefined
      }
      const callers = merged(seen.callers, waitingHere.callers(operations, at))
      const chosen = choose(turns, callers, claim.limit - instances.length, budget)
      const before = instances.length
      // They are this claim's from now on, even if a later statement fails.
      const waiting = chosen.calls.filter(({ waits }) => waits).map(({ id }) => id)
      instances.push(...waitingHere.handOut(waiting, at, claim.leaseMs))
      const inDue = chosen.calls.filter(({ waits }) => !waits)
      const taken = await takeAll(session, inDue, at, claim)
      instances.push(...taken)
      const got = inOrderOf(chosen.calls, instances.splice(before))
      budget.confirm(got)
      instances.push(...got)
      leftAt = chosen.wantsMore ? at : chosen.leftAt
      lacking = lackingIn(callers, budget)
      const missed = inDue.length - taken.length
      if (missed > 0) await correct(session, inDue, taken)
      // Calls that wait here and cannot be taken are no reason to leave others.
      const looks = askAgainAt !== undefined && got.length === 0
      if (missed === 0 && !chosen.wantsMore && !looks) break
    }
    const nextDueAt = leftAt ?? (await nextDue(session, names, at, seen, instances.length > 0 && at + claim.leaseMs))
    return {
      instances,
      ...optional(nextDueAt),
      ...(askAgainAt !== undefined && { askAgainAt }),
      ...(lacking && { lacking }),
    }
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

interface Names {
  of: readonly string[]
  names: Buffer
  /** The same set as long as the names are the same. */
  operations: ReadonlySet<string>
}

/** Encodes the names of the operations when they change. */
function createNames(): (of: readonly string[]) => Names {
  let last: Names | undefined
  return (of) => {
    if (last && last.of.length === of.length && last.of.every((name, at) => name === of[at])) return last
    const encoded = of.map(encodeText)
    last = { of: [...of], names: encodeArray('text', encoded), operations: new Set(encoded) }
    return last
  }
}

function inOrderOf(places: readonly Place[], instances: readonly Instance[]): Instance[] {
  const byId = new Map(instances.map((instance) => [instance.id, instance]))
  return places.flatMap(({ id }) => byId.get(id) ?? [])
}

const optional = (nextDueAt: number | undefined) => (nextDueAt === undefined ? {} : { nextDueAt })
