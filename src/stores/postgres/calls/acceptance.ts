/**
 * Accepts calls. A request id or an idempotency key stays taken as long as its row exists. The unique indexes of the
 * current generation decide, so that nodes need not know of each other. Older generations gain no rows, so it is enough
 * to look into them.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { Acceptance, AcceptMore, Alias, Created, Taken } from '../../../core/ports/store.ts'
import { isDuplicate, SendAgain } from '../connect/failures.ts'
import { type Decided, type Session, type Statement, statement, transaction } from '../connect/session.ts'
import { type Generations, perGeneration, perList } from '../generations/generations.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { RecordWrites } from '../records.ts'
import { encodeArray } from '../sql/arrays.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import type { Callers } from './callers.ts'
import { requestKey } from './keys.ts'
import type { CallReads } from './reads.ts'
import {
  ALIAS,
  type CallRow,
  type Encoded,
  encodeAliasFixed,
  encodeCall,
  isUsual,
  OPEN,
  RARE_COLUMNS,
  USUAL_COLUMNS,
} from './rows.ts'

const CREATED: Created = { kind: 'created' }
const RECORDS_DIFFER: Acceptance = { kind: 'records-differ' }
const MOST = 256

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
  now(): number
  /** After the commit. */
  accepted(instances: readonly Instance[], generation: number): void
}

type AcceptItem = Item<Encoded, Acceptance>

export class AcceptedCalls {
  readonly #parts: AcceptanceParts
  readonly #usual: Kind
  readonly #rare: Kind
  /** A usual call that this node starts at once. */
  readonly #fresh: Kind
  readonly #standing: Statement
  readonly #vacateCall: (generation: number) => Statement
  readonly #vacateAlias: (generation: number) => Statement
  readonly #insertAlias: (generation: number) => Statement

  constructor(parts: AcceptanceParts) {
    this.#parts = parts
    const { tables, generations } = parts
    this.#usual = this.#kind('accept', 'usual')
    this.#rare = this.#kind('accept rare', 'rare')
    this.#fresh = this.#kind('accept fresh', 'fresh')
    this.#standing = statement(`SELECT EXISTS (SELECT FROM ${tables.nodes} WHERE node = $1) AS member,
      (${currentOf(tables)}) AS current`)
    // The new request id contains the instance id, so no caller can have chosen it. An entry keeps the id it was made for.
    this.#vacateCall = perGeneration((generation) =>
      statement(`UPDATE ${tables.calls(generation)} SET request_key = $3, request_id = 'yielded:' || id,
        revision = revision + 1,
        audit = CASE WHEN audit IS NOT NULL THEN left(audit, -1) || CASE audit WHEN '{}' THEN '' ELSE ',' END || $4 || '}' END
      WHERE id = $1 AND request_key = $2`),
    )
    this.#vacateAlias = perGeneration((generation) =>
      statement(`DELETE FROM ${tables.calls(generation)} WHERE request_key = $2 AND alias_of = $1`),
    )
    // By the generation of the call. The row itself goes to the current one.
    const insertAlias = perList(generations, () =>
      perGeneration((generation) =>
        statement(`INSERT INTO ${tables.calls(generations.current)} (id, request_key, request_id, fixed,
            expires_at, keep_until, alias_of, created_at, operation, state,
            revision, attempt, settled, failures, stop_requested, told, child, held)
          SELECT u.request_key, u.request_key, $2, $3, $4, $4, c.id, $5, '', '${ALIAS}',
            0, 0, 0, 0, false, false, false, false
          FROM ${tables.calls(generation)} c, (SELECT $1::uuid AS request_key) u
          WHERE c.id = $6 AND c.alias_of IS NULL AND ${isNew(tables, generations, { request_key: 'ARRAY[$1::uuid]' })}
          FOR KEY SHARE OF c
          ON CONFLICT DO NOTHING RETURNING id`),
      ),
    )
    this.#insertAlias = (generation) => insertAlias()(generation)
  }

  accept(instance: Instance, more?: AcceptMore): Promise<Acceptance> {
    const call = encodeCall(instance, this.#parts.callers)
    const lanes = lanesOf(call)
    const { writes, fresh, now } = this.#parts
    if (more?.over === undefined && more?.records === undefined) {
      const terms = { lanes, bytes: call.args.length }
      if (!isUsual(instance)) return writes.add(this.#rare.shape, call, terms)
      // A call that is refused at once is not in doubt.
      if (writes.refusal || !fresh.send(instance, now())) return writes.add(this.#usual.shape, call, terms)
      return writes.add(this.#fresh.shape, call, terms).catch((fault: Fault) => {
        if (fault.kind === 'unavailable') fresh.doubt(instance.id)
        else fresh.refused(instance.id)
        throw fault
      })
    }
    const shape: Shape<Encoded, Acceptance> = {
      key: `accept with more ${instance.id}`,
      most: 1,
      run: (session, [item]) => this.#acceptWith(session, item as AcceptItem, more),
    }
    const recordLanes = (more.records ?? []).map(({ key }) => `record ${key}`)
    const over = more.over === undefined ? [] : [`call ${more.over}`]
    return writes.add(shape, call, { lanes: [...new Set([...lanes, ...over, ...recordLanes])] })
  }

  alias(alias: Alias): Promise<Created | Taken> {
    const key = requestKey(alias.tenant, alias.owner, alias.requestId)
    const shape: Shape<Alias, Created | Taken> = {
      key: `alias ${key}`,
      most: 1,
      run: (session, [item]) => this.#insertOne(session, item as Item<Alias, Created | Taken>, key),
    }
    return this.#parts.writes.add(shape, alias, { lanes: [`request ${key}`, `call ${alias.instanceId}`] })
  }

  #kind(key: string, kind: InsertKind): Kind {
    const { tables, generations } = this.#parts
    const inserts = perList(generations, () => insertsOf(tables, generations, kind))
    return {
      inserts,
      shape: { key, most: MOST, run: (session, items) => this.#acceptAll(session, items, inserts) },
    }
  }

  /** Without a conflict, which is the usual case, a plain INSERT takes 3 to 6 µs less for each call. */
  async #acceptAll(session: Session, given: readonly AcceptItem[], inserts: () => Inserts): Promise<void> {
    // In the order of a unique index, so that two nodes with the same keys do not wait for each other.
    const items = [...given].sort((a, b) => (a.value.requestKey < b.value.requestKey ? -1 : 1))
    const node = this.#parts.node()
    const { plain, patient, generation } = inserts()
    await this.#parts.callers.write(
      session,
      generation,
      items.map(({ value }) => value.caller),
    )
    const refused =
      (await this.#insertPlain(session, items, plain, node)) ?? (await this.#insert(session, items, patient, node))
    if (refused.length === 0) return
    await this.#checkStanding(session, patient, node)
    const taken: (Acceptance | Fault)[] = []
    for (const item of refused) taken.push(await this.#takenBy(session, item))
    refused.forEach((item, at) => void settle(item, taken[at] as Acceptance | Fault, this.#parts.fresh))
  }

  /** `undefined` if a call conflicts with one in the same generation. Then none of them was inserted. */
  async #insertPlain(
    session: Session,
    items: readonly AcceptItem[],
    plain: Insert,
    node: number,
  ): Promise<readonly AcceptItem[] | undefined> {
    if (items.some(({ uncertain }) => uncertain)) return undefined
    try {
      return await this.#insert(session, items, plain, node)
    } catch (thrown) {
      if (!isDuplicate(thrown)) throw thrown
      return undefined
    }
  }

  /** Settles the calls that it inserted, and returns the others. */
  async #insert(
    session: Session,
    items: readonly AcceptItem[],
    insert: Insert,
    node: number,
  ): Promise<readonly AcceptItem[]> {
    const { rows } = await session.query<{ id: string }>(insert, this.#valuesOf(items, insert, node))
    if (rows.length === items.length) {
      this.#created(items, insert.generation)
      return []
    }
    const inserted = new Set(rows.map(({ id }) => id))
    const isIn = ({ value }: AcceptItem) => inserted.has(value.instance.id)
    this.#created(items.filter(isIn), insert.generation)
    return items.filter((item) => !isIn(item))
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

  #valuesOf(items: readonly AcceptItem[], { columns }: Insert, node: number): unknown[] {
    const arrays = columns.map(({ type, read }) =>
      encodeArray(
        type,
        items.map(({ value }) => read(value)),
      ),
    )
    return [...arrays, node]
  }

  #created(items: readonly AcceptItem[], generation: number): void {
    this.#parts.accepted(
      items.map(({ value }) => value.instance),
      generation,
    )
    for (const item of items) settle(item, CREATED, this.#parts.fresh)
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
    const { patient, generation } = (isUsual(item.value.instance) ? this.#usual : this.#rare).inserts()
    const { instance, requestKey: key, caller } = item.value
    const node = this.#parts.node()
    await this.#parts.callers.write(session, generation, [caller])
    const decided = await transaction(session, async (): Promise<Decided<Acceptance | Fault>> => {
      const refuse = (value: Acceptance | Fault) => ({ commit: false, value })
      if (over !== undefined) {
        // A repeat after a lost answer finds its own row, and must not look at records that it has changed itself.
        if (item.uncertain && (await this.#parts.reads.one(session, instance.id))) return refuse(CREATED)
        if (!(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
        await this.#vacate(session, key, instance, over)
      }
      const { rows } = await session.query(patient, this.#valuesOf([item], patient, node))
      if (rows.length === 0) {
        await this.#checkStanding(session, patient, node)
        return refuse(await this.#takenBy(session, item))
      }
      if (over === undefined && !(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
      return { commit: true, value: CREATED }
    })
    if (decided === CREATED) this.#parts.accepted([instance], generation)
    settle(item, await this.#keptIn(session, decided, over), this.#parts.fresh)
  }

  /** The call that should give up its request id has kept it, because nothing was committed. */
  async #keptIn(session: Session, decided: Acceptance | Fault, over: string | undefined): Promise<Acceptance | Fault> {
    if (!('instance' in decided) || decided.instance.id !== over) return decided
    return { ...decided, instance: (await this.#parts.reads.one(session, over)) ?? decided.instance }
  }

  async #vacate(session: Session, key: string, instance: Instance, over: string): Promise<void> {
    const { tenant, owner, requestId } = instance
    const { reads, generations } = this.#parts
    const yielded = requestKey(tenant, owner, `yielded:${over}`)
    const entry = `"requestId":${JSON.stringify(requestId)}`
    const standing = (await reads.rows(session, [over])).get(over)
    if (!standing) return
    const { count } = await session.query(this.#vacateCall(standing.generation), [over, key, yielded, entry])
    // It has the request id, and was not there: it moved to another generation since it was read.
    if (count === 0 && requestKeyOf(standing) === key) throw new SendAgain()
    for (const generation of generations.live) await session.query(this.#vacateAlias(generation), [over, key])
  }

  async #insertOne(session: Session, item: Item<Alias, Created | Taken>, key: string): Promise<void> {
    const { requestId, instanceId, expiresAt } = item.value
    const { reads, now, generations } = this.#parts
    const { current } = generations
    const target = (await reads.rows(session, [instanceId])).get(instanceId)
    if (target) {
      const texts = [encodeText(requestId), encodeAliasFixed(item.value)]
      const values = [key, ...texts, expiresAt, now(), instanceId]
      const { rows } = await session.query(this.#insertAlias(target.generation), values)
      if (rows.length > 0) return item.done(CREATED)
    }
    const instance = await reads.holderOf(session, key)
    const isOurs = item.uncertain && instance?.id === instanceId && instance.requestId === requestId
    if (isOurs) return item.done(CREATED)
    if (instance) return item.done({ kind: 'request-id-taken', instance })
    // The generation was closed, or the call has moved, since it was read.
    const moved = target && (await reads.rows(session, [instanceId])).get(instanceId)
    if (moved) await generations.refresh(session)
    if (moved && (moved.generation !== target.generation || generations.current !== current)) throw new SendAgain()
    item.fail(new Fault('unavailable', 'The call that this one repeats was just removed. Send the call again.'))
  }
}

function settle(item: AcceptItem, result: Acceptance | Fault, fresh: FreshCalls): void {
  const { id } = item.value.instance
  if (result instanceof Fault || result.kind !== 'created') fresh.refused(id)
  else fresh.accepted(id)
  if (result instanceof Fault) item.fail(result)
  else item.done(result)
}

function requestKeyOf({ tenant, owner, request_id }: CallRow): string {
  return requestKey(decodeText(tenant), decodeText(owner), decodeText(request_id))
}

function lanesOf({ instance, requestKey: key, keyHash }: Encoded): string[] {
  const lanes = [`call ${instance.id}`, `request ${key}`]
  if (keyHash !== undefined) lanes.push(`key ${keyHash}`)
  return lanes
}

interface Kind {
  shape: Shape<Encoded, Acceptance>
  inserts(): Inserts
}

interface Insert extends Statement {
  columns: typeof USUAL_COLUMNS
  /** It inserts nothing if this is not the current one. */
  generation: number
  /** It inserts nothing if this node is taken for dead. */
  fresh: boolean
}

interface Inserts {
  generation: number
  /** Fails as a whole if one of the calls conflicts with another of the same generation. */
  plain: Insert
  /** Leaves out the calls that conflict. */
  patient: Insert
}

type InsertKind = 'usual' | 'rare' | 'fresh'

const currentOf = ({ generations }: Tables) => `SELECT number FROM ${generations} WHERE state = 'current'`

/**
 * The generation takes new calls, and no older one has a row with one of these keys of `u`. `keys` has all values of each
 * as an array, and they are looked up once for the whole statement.
 */
function isNew(tables: Tables, { current, live }: Generations, keys: Readonly<Record<string, string>>): string {
  const older = live.filter((generation) => generation !== current)
  const absent = Object.entries(keys).map(([key, values]) => {
    const looks = older.map(
      (generation) => `SELECT ${key} FROM ${tables.calls(generation)} WHERE ${key} = ANY (${values})`,
    )
    return `(u.${key} IS NULL OR u.${key} <> ALL (ARRAY(${looks.join(' UNION ALL ')})))`
  })
  return [`(${currentOf(tables)}) = ${current}`, ...absent].join(' AND ')
}

function insertsOf(tables: Tables, generations: Generations, kind: InsertKind): Inserts {
  const generation = generations.current
  const columns = kind === 'rare' ? [...USUAL_COLUMNS, ...RARE_COLUMNS] : USUAL_COLUMNS
  const literals = kind === 'rare' ? [] : RARE_COLUMNS
  const names = columns.map(({ name }) => name)
  const into = [...names, ...literals.map(({ name }) => name), 'node']
  const node = `$${columns.length + 1}::integer`
  const select = [
    ...names.map((name) => (name === 'state' ? 'u.state::"char"' : `u.${name}`)),
    ...literals.map(({ usual }) => usual),
    node,
  ]
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`)
  const from = `unnest(${arrays.join(', ')}) AS u (${names.join(', ')})`
  const valuesOf = (key: string) => arrays[names.indexOf(key)] as string
  const keys = { request_key: valuesOf('request_key'), key_hash: valuesOf('key_hash') }
  const where = `WHERE ${isNew(tables, generations, keys)}`
  const make = (text: string): Insert => ({ ...statement(text), columns, generation, fresh: kind === 'fresh' })
  const insert = (conflict: string) => {
    const head = `INSERT INTO ${tables.calls(generation)} AS c (${into.join(', ')}) SELECT ${select.join(', ')} FROM ${from}`
    // The lock keeps others from taking over this node's calls until these are committed, and can be seen.
    if (kind === 'fresh')
      return `WITH me AS MATERIALIZED (SELECT FROM ${tables.nodes} WHERE node = ${node} FOR KEY SHARE)
        ${head} CROSS JOIN me ${where} ${conflict} RETURNING id`
    return `WITH new AS (
        ${head} ${where} ${conflict}
        RETURNING c.id, c.operation, c.due_at, c.expires_at, c.attempt, c.state, ${dueSource('c')}
      ), queued AS (${putDue(tables, generation, 'new', `WHERE f.state IN (${OPEN})`)}) SELECT id FROM new`
  }
  return { generation, plain: make(insert('')), patient: make(insert('ON CONFLICT DO NOTHING')) }
}
