/**
 * Hands out candidates to this node. The rows in `calls` decide whether a candidate is still due, so that one that
 * another node takes at the same moment is taken once.
 */
import type { Instance } from '../../../core/call/instance.ts'
import type { Claim } from '../../../core/ports/store.ts'
import type { CallReads } from '../calls/reads.ts'
import { type CallRow, decodeCall } from '../calls/rows.ts'
import { SendAgain } from '../connect/failures.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, groupBy } from '../generations/generations.ts'
import type { FreshCalls, FreshFields } from '../nodes/fresh-calls.ts'
import { encodeArray } from '../sql/arrays.ts'
import { decodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import type { Place } from './choice.ts'
import type { QueuedHere } from './queued-here.ts'
import { createTakes } from './takes.ts'

export interface TakingParts {
  tables: Tables
  generations: Generations
  reads: CallReads
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

export function createTaking(parts: TakingParts) {
  const { tables, generations, reads, fresh, queuedHere, missing, newMark, now } = parts
  const thisNode = parts.node
  const { remove, removeKnown, move } = createTakes(tables)
  const membership = statement(`SELECT FROM ${tables.nodes} WHERE node = $1`)

  /** Takes those candidates that are still due. Others may have taken some of them. */
  async function takeAll(session: Session, chosen: readonly Place[], at: number, claim: Claim): Promise<Instance[]> {
    if (chosen.length === 0) return []
    const places = [...new Map(chosen.map((place) => [place.id, place])).values()]
    const sent = { at, leaseMs: claim.leaseMs, node: thisNode(), mark: newMark() }
    const ids = places.map(({ id }) => id)
    const isLive = ({ generation }: Place) => generations.live.includes(generation)
    if (!places.every(isLive)) await generations.refresh(session)
    const { known, unknown, others } = sorted(places.filter(isLive), sent)
    const taken: Taken[] = []
    try {
      for (const row of await takeEach<TakenRow>(session, others, sent, move)) taken.push(takenOf(row))
      for (const row of await takeEach<TakenRow>(session, unknown, sent, remove)) taken.push(takenOf(row))
      taken.push(...(await takeKnown(session, known, sent)))
      const held = [...known, ...unknown]
      const got = new Set(taken.map(({ instance }) => instance.id))
      if (held.length > 0 && !held.some(({ id }) => got.has(id))) await requireMembership(session, sent.node)
    } catch (thrown) {
      doubtful.push({ ids, mark: sent.mark })
      for (const { id } of [...known, ...unknown]) fresh.doubt(id)
      throw thrown
    }
    const instances = receive(taken, ids)
    const got = new Set(instances.map(({ id }) => id))
    for (const { id } of [...known, ...unknown]) if (!got.has(id)) fresh.refused(id)
    return instances
  }

  /** `known` were accepted here, `known` and `unknown` will have no row in `due`, and `others` keep theirs. */
  function sorted(places: readonly Place[], sent: Sent) {
    const known: Place[] = []
    const unknown: Place[] = []
    const others: Place[] = []
    for (const place of places) {
      if (!fresh.claim(freshOf(place, sent))) others.push(place)
      else if (queuedHere.has(place.id)) known.push(place)
      else unknown.push(place)
    }
    return { known, unknown, others }
  }

  /** Takes calls that this node has put into the queue. Those that were changed since are read. */
  async function takeKnown(session: Session, places: readonly Place[], sent: Sent): Promise<Taken[]> {
    const rows = await takeEach<{ id: string; revision: number }>(session, places, sent, removeKnown)
    const placeOf = new Map(places.map((place) => [place.id, place]))
    const taken: Taken[] = []
    const changed: Place[] = []
    for (const { id, revision } of rows) {
      const instance = queuedHere.take(id, { revision, dueAt: sent.at + sent.leaseMs })
      const place = placeOf.get(id) as Place
      if (instance) taken.push({ instance, generation: place.generation, acceptedBy: null })
      else changed.push(place)
    }
    // Another node may have ended one of them since.
    for (const row of await marked(session, changed, sent)) taken.push({ ...takenOf(row), acceptedBy: null })
    return taken
  }

  /** The rows of those calls that this claim was the last to change. */
  async function marked(session: Session, places: readonly Place[], { mark }: Sent): Promise<CallRow[]> {
    if (places.length === 0) return []
    const ids = places.map(({ id }) => id)
    return [...(await reads.rows(session, ids)).values()].filter((row) => row.mark === mark)
  }

  async function takeEach<R>(
    session: Session,
    places: readonly Place[],
    sent: Sent,
    takeIn: (generation: number) => Statement,
  ): Promise<R[]> {
    const rows: R[] = []
    for (const [generation, group] of groupBy(places, (place) => place.generation))
      rows.push(...(await session.query<R>(takeIn(generation), valuesOf(group, sent))).rows)
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

  /** Adds the calls that turn out to be taken. */
  async function resolveDoubts(session: Session, found: Instance[]): Promise<void> {
    while (doubtful[0]) {
      const { ids, mark } = doubtful[0]
      const rows = [...(await reads.rows(session, ids)).values()]
      const isOurs = (row: CallRow) => row.mark === mark && row.due_at !== null && row.due_at > now()
      found.push(...receive(rows.filter(isOurs).map(takenOf), ids))
      doubtful.shift()
    }
  }

  return { takeAll, resolveDoubts }
}

function valuesOf(places: readonly Place[], { at, leaseMs, mark, node }: Sent): unknown[] {
  const list = places.map(({ id }) => id).sort()
  return [encodeArray('uuid', list), at, at + leaseMs, mark, node]
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
