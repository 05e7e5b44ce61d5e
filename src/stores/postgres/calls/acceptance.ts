/**
 * Accepts calls. A request id or an idempotency key stays taken as long as its row exists. The unique indexes of the
 * current generation decide, so that nodes need not know of each other. Older generations gain no rows, so it is enough
 * to look into them.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { Acceptance, AcceptMore, Created } from '../../../core/ports/store.ts'
import { isDuplicate, SendAgain } from '../connect/failures.ts'
import { type Decided, type Session, type Statement, statement, transaction } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import type { KeyFilters } from '../generations/key-filters.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { RecordWrites } from '../records.ts'
import { encodeArray } from '../sql/arrays.ts'
import { batchValues } from '../sql/batch-columns.ts'
import type { Tables } from '../tables.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { type Encoded, encodeCall, type InsertKind, isUsual } from './accepted-columns.ts'
import type { Callers } from './callers.ts'
import { createInserts, currentOf, type Insert, type Inserts } from './inserts.ts'
import type { CallReads } from './reads.ts'
import { YieldedIds } from './yielded-ids.ts'

const CREATED: Created = { kind: 'created' }
const RECORDS_DIFFER: Acceptance = { kind: 'records-differ' }
const MOST = 256
const MAX_WAITING_CHARACTERS = 2_048

export interface AcceptanceParts {
  tables: Tables
  generations: Generations
  callers: Callers
  writes: Batches
  reads: CallReads
  records: RecordWrites
  /** The number of this node. */
  node(): number
  /** A statement found that this node is not among the living ones. */
  missing(session: Session, node: number): Promise<void>
  fresh: FreshCalls
  filters: Pick<KeyFilters, 'rulingOut'>
  /** More calls may wait for slots of this node. */
  mayWait(): boolean
  now(): number
  /** After the commit. `waits`: the call waits for a slot of this node. */
  accepted(call: Encoded, generation: number, waits: boolean): void
}

type AcceptItem = Item<Encoded, Acceptance>

export class AcceptedCalls {
  readonly #parts: AcceptanceParts
  readonly #fresh: Kind
  readonly #waiting: Kind
  readonly #queued: Kind
  readonly #rare: Kind
  readonly #standing: Statement
  /** Those of some calls that are in a generation. */
  readonly #present: (generation: number) => Statement
  readonly #yielded: YieldedIds

  constructor(parts: AcceptanceParts) {
    this.#parts = parts
    const { tables } = parts
    this.#yielded = new YieldedIds(parts)
    this.#fresh = this.#kind('fresh')
    this.#waiting = this.#kind('waiting')
    this.#queued = this.#kind('queued')
    this.#rare = this.#kind('rare')
    this.#present = perGeneration((generation) =>
      statement(`SELECT id FROM ${tables.calls(generation)} WHERE id = ANY ($1::uuid[])`),
    )
    this.#standing = statement(`SELECT EXISTS (SELECT FROM ${tables.nodes} WHERE node = $1) AS member,
      (${currentOf(tables)}) AS current`)
  }

  accept(instance: Instance, more?: AcceptMore): Promise<Acceptance> {
    const call = encodeCall(instance, this.#parts.callers)
    const lanes = lanesOf(call)
    const { writes } = this.#parts
    if (more?.over === undefined && more?.records === undefined) {
      const terms = { lanes, bytes: call.args.length }
      if (!isUsual(instance)) return writes.add(this.#rare.shape, call, terms)
      // A call that is refused at once is not in doubt.
      if (writes.refusal) return writes.add(this.#queued.shape, call, terms)
      if (this.#parts.fresh.send(instance, this.#parts.now())) return writes.add(this.#fresh.shape, call, terms)
      const ahead = more?.leaseAheadMs === undefined ? undefined : this.#claimedAhead(call, more.leaseAheadMs)
      return writes.add((ahead ? this.#waiting : this.#queued).shape, ahead ?? call, terms)
    }
    const shape: Shape<Encoded, Acceptance> = {
      key: `accept with more ${instance.id}`,
      most: 1,
      run: (session, [item]) => this.#acceptWith(session, item as AcceptItem, more),
    }
    const recordLanes = (more.records ?? []).map(({ key }) => `record ${key}`)
    const over = more.over === undefined ? [] : [more.over]
    return writes.add(shape, call, { lanes: [...new Set([...lanes, ...over, ...recordLanes])] })
  }

  /**
   * A due call that waits for a slot of this node, as this node claims it. `undefined` if it has to wait in `due`: child
   * calls go first, wherever they are, and large arguments are not kept in memory.
   */
  #claimedAhead(call: Encoded, leaseMs: number): Encoded | undefined {
    const { fresh, now, mayWait } = this.#parts
    const { state, attempt, lineage, extras, dueAt } = call.instance
    const isNew = state === 'accepted' && attempt === 0 && lineage.length === 0 && extras === undefined
    if (!isNew || dueAt === undefined || dueAt > now() || dueAt + leaseMs <= now()) return undefined
    if (call.args.length > MAX_WAITING_CHARACTERS || !mayWait()) return undefined
    const instance = { ...call.instance, attempt: 1, dueAt: dueAt + leaseMs }
    return fresh.sendWaiting(instance) ? { ...call, instance, dueAt } : undefined
  }

  #kind(kind: InsertKind): Kind {
    const { tables, generations, fresh, filters } = this.#parts
    const insertsFor = createInserts(tables, generations, kind, filters)
    const shape: Shape<Encoded, Acceptance> = {
      key: `accept ${kind}`,
      most: MOST,
      run: (session, items) => this.#acceptAll(session, items, insertsFor),
    }
    const failed = ({ instance }: Encoded, fault: Fault) => {
      if (fault.kind === 'unavailable') fresh.doubt(instance.id)
      else fresh.refused(instance.id)
    }
    return { insertsFor, shape: kind === 'fresh' || kind === 'waiting' ? { ...shape, failed } : shape }
  }

  /** Without a conflict, which is the usual case, a plain INSERT takes 3 to 6 µs less for each call. */
  async #acceptAll(session: Session, given: readonly AcceptItem[], insertsFor: Kind['insertsFor']): Promise<void> {
    // In the order of a unique index, so that two nodes with the same keys do not wait for each other.
    const items = [...given].sort((a, b) => (a.value.requestKey < b.value.requestKey ? -1 : 1))
    const node = this.#parts.node()
    const { plain, patient, generation } = insertsFor(items.map(callIn))
    await this.#parts.callers.write(
      session,
      generation,
      items.map(({ value }) => value.caller),
    )
    const refused =
      (await this.#insertPlain(session, items, plain, node)) ??
      (await this.#insertPatient(session, items, patient, node))
    if (refused.length === 0) return
    await this.#checkStanding(session, patient, node)
    const taken: (Acceptance | Fault)[] = []
    for (const item of refused) taken.push(await this.#takenBy(session, item))
    refused.forEach((item, at) => {
      const result = taken[at] as Acceptance | Fault
      if (patient.fresh) this.#tellFresh(item.value, result, patient)
      settle(item, result)
    })
  }

  #tellFresh(call: Encoded, result: Acceptance | Fault, { generation, waits }: Insert): void {
    const { accepted, fresh } = this.#parts
    const { id } = call.instance
    if (result instanceof Fault || result.kind !== 'created') {
      fresh.refused(id)
      return
    }
    // An earlier try was committed, maybe in an older generation. The call is found there all the same.
    fresh.accepted(id)
    if (waits) accepted(call, generation, waits)
  }

  /**
   * Settles the calls that it inserted, and returns the others. `undefined` if a call conflicts with one in the same
   * generation. Then none of them was inserted.
   */
  async #insertPlain(
    session: Session,
    items: readonly AcceptItem[],
    plain: Insert,
    node: number,
  ): Promise<readonly AcceptItem[] | undefined> {
    if (items.some(({ uncertain }) => uncertain)) return undefined
    try {
      const { count } = await session.query(plain, valuesOf(items, plain, node))
      if (count === items.length) return this.#created(items, plain)
    } catch (thrown) {
      if (!isDuplicate(thrown)) throw thrown
      return undefined
    }
    const ids = items.map(({ value }) => value.instance.id)
    const { rows } = await session.query<{ id: string }>(this.#present(plain.generation), [encodeArray('uuid', ids)])
    return this.#createdOnly(items, rows, plain)
  }

  async #insertPatient(
    session: Session,
    items: readonly AcceptItem[],
    patient: Insert,
    node: number,
  ): Promise<readonly AcceptItem[]> {
    const { rows } = await session.query<{ id: string }>(patient, valuesOf(items, patient, node))
    return this.#createdOnly(items, rows, patient)
  }

  /**
   * Nothing is inserted into a generation that is closed, nor, without a row in `due`, for a node that others took for
   * dead. Then it is tried again: in the new generation, and under a new number.
   */
  async #checkStanding(session: Session, { generation, fresh }: Insert, node: number): Promise<void> {
    const { rows } = await session.query<{ member: boolean; current: number }>(this.#standing, [node])
    const [{ member, current } = { member: false, current: 0 }] = rows
    if (current !== generation) await this.#parts.generations.refresh(session)
    if (fresh && !member) await this.#parts.missing(session, node)
    if (current !== generation || (fresh && !member)) throw new SendAgain()
  }

  #createdOnly(items: readonly AcceptItem[], rows: readonly { id: string }[], insert: Insert): AcceptItem[] {
    const inserted = new Set(rows.map(({ id }) => id))
    const isIn = ({ value }: AcceptItem) => inserted.has(value.instance.id)
    this.#created(items.filter(isIn), insert)
    return items.filter((item) => !isIn(item))
  }

  /** Returns the calls that were not created: none. */
  #created(items: readonly AcceptItem[], { generation, fresh: isFresh, waits }: Insert): AcceptItem[] {
    const { accepted, fresh } = this.#parts
    for (const item of items) {
      accepted(item.value, generation, waits)
      if (isFresh) fresh.accepted(item.value.instance.id)
      item.done(CREATED)
    }
    return []
  }

  /** Why a call was not inserted. */
  async #takenBy(session: Session, { value, uncertain }: AcceptItem): Promise<Acceptance | Fault> {
    const { instance, requestKey: key, keyHash } = value
    const { reads } = this.#parts
    const sameRequest = await reads.holderOf(session, key)
    // The first try was committed, and only its answer was lost. The id is random, so the row is ours.
    if (uncertain && sameRequest?.id === instance.id) return CREATED
    if (sameRequest) return { kind: 'request-id-taken', instance: sameRequest }
    const sameKey = keyHash === undefined ? undefined : await reads.byKeyHash(session, keyHash)
    if (sameKey) return { kind: 'key-taken', instance: sameKey }
    if (await reads.one(session, instance.id)) {
      const message = `The instance id ${instance.id} is in use. Check that newId returns unique ids.`
      return new Fault('internal', message)
    }
    const message = 'The call that had this request id was just removed. Send the call again.'
    return new Fault('unavailable', message)
  }

  /** One call with further changes, in a transaction of its own. */
  async #acceptWith(session: Session, item: AcceptItem, { over, records = [] }: AcceptMore): Promise<void> {
    const { patient, generation } = (isUsual(item.value.instance) ? this.#queued : this.#rare).insertsFor([item.value])
    const { instance, requestKey: key, caller } = item.value
    const node = this.#parts.node()
    await this.#parts.callers.write(session, generation, [caller])
    const decided = await transaction(session, async (): Promise<Decided<Acceptance | Fault>> => {
      const refuse = (value: Acceptance | Fault) => ({ commit: false, value })
      if (over !== undefined) {
        // A repeat after a lost answer finds its own row, and must not look at records that it has changed itself.
        if (item.uncertain && (await this.#parts.reads.one(session, instance.id))) return refuse(CREATED)
        if (!(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
        await this.#yielded.vacate(session, key, instance, over)
      }
      const { rows } = await session.query(patient, valuesOf([item], patient, node))
      if (rows.length === 0) {
        await this.#checkStanding(session, patient, node)
        return refuse(await this.#takenBy(session, item))
      }
      if (over === undefined && !(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
      return { commit: true, value: CREATED }
    })
    if (decided === CREATED) this.#parts.accepted(item.value, generation, false)
    settle(item, await this.#keptIn(session, decided, over))
  }

  /** The call that should give up its request id has kept it, because nothing was committed. */
  async #keptIn(session: Session, decided: Acceptance | Fault, over: string | undefined): Promise<Acceptance | Fault> {
    if (!('instance' in decided) || decided.instance.id !== over) return decided
    return { ...decided, instance: (await this.#parts.reads.one(session, over)) ?? decided.instance }
  }
}

function settle(item: AcceptItem, result: Acceptance | Fault): void {
  if (result instanceof Fault) item.fail(result)
  else item.done(result)
}

function valuesOf(items: readonly AcceptItem[], { columns, agreed }: Insert, node: number): unknown[] {
  return [...batchValues(columns, items.map(callIn), agreed), node]
}

function callIn({ value }: AcceptItem): Encoded {
  return value
}

function lanesOf({ instance, requestKey: key, keyHash }: Encoded): string[] {
  return keyHash === undefined ? [instance.id, key] : [instance.id, key, keyHash]
}

interface Kind {
  shape: Shape<Encoded, Acceptance>
  insertsFor(calls: readonly Encoded[]): Inserts
}
