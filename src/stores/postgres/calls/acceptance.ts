/**
 * Accepts calls. A request id or an idempotency key stays taken as long as its row exists. Unique indexes decide, so
 * that nodes need not know of each other.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { Acceptance, AcceptMore, Alias, Created, Taken } from '../../../core/ports/store.ts'
import { isDuplicate, SendAgain } from '../connect/failures.ts'
import { type Decided, type Session, type Statement, statement, transaction } from '../connect/session.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { RecordWrites } from '../records.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import { putDue, type Tables } from '../tables.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { requestKey } from './keys.ts'
import type { CallReads } from './reads.ts'
import {
  ALIAS,
  aliasId,
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
  accepted(instances: readonly Instance[]): void
}

type AcceptItem = Item<Encoded, Acceptance>

export class AcceptedCalls {
  readonly #parts: AcceptanceParts
  readonly #usual: Kind
  readonly #rare: Kind
  /** A usual call that this node starts at once. */
  readonly #fresh: Kind
  readonly #member: Statement
  readonly #vacateCall: Statement
  readonly #vacateAlias: Statement
  readonly #insertAlias: Statement

  constructor(parts: AcceptanceParts) {
    this.#parts = parts
    const { tables } = parts
    this.#usual = this.#kind('accept', insertsOf(tables, 'usual'))
    this.#rare = this.#kind('accept rare', insertsOf(tables, 'rare'))
    this.#fresh = this.#kind('accept fresh', insertsOf(tables, 'fresh'))
    this.#member = statement(`SELECT FROM ${tables.nodes} WHERE node = $1`)
    // The new request id contains the instance id, so no caller can have chosen it. An entry keeps the id it was made for.
    this.#vacateCall = statement(`UPDATE ${tables.calls} SET request_key = $3, request_id = 'yielded:' || id,
        revision = revision + 1,
        audit = CASE WHEN audit IS NOT NULL THEN left(audit, -1) || CASE audit WHEN '{}' THEN '' ELSE ',' END || $4 || '}' END
      WHERE id = $1 AND request_key = $2`)
    this.#vacateAlias = statement(`DELETE FROM ${tables.calls} WHERE request_key = $2 AND alias_of = $1`)
    this.#insertAlias = statement(`INSERT INTO ${tables.calls} (id, request_key, tenant, owner, request_id, fixed,
        expires_at, keep_until, alias_of, created_at, operation, state,
        revision, attempt, settled, failures, stop_requested, told, child, held)
      SELECT $1, $2, $3, $4, $5, $6, $7, $7, c.id, $8, '', '${ALIAS}', 0, 0, 0, 0, false, false, false, false
      FROM ${tables.calls} c WHERE c.id = $9 AND c.alias_of IS NULL FOR KEY SHARE
      ON CONFLICT DO NOTHING RETURNING id`)
  }

  accept(instance: Instance, more?: AcceptMore): Promise<Acceptance> {
    const call = encodeCall(instance)
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

  #kind(key: string, inserts: Inserts): Kind {
    return {
      inserts,
      shape: { key, most: MOST, run: (session, items) => this.#acceptAll(session, items, inserts) },
    }
  }

  /** Without a conflict, which is the usual case, a plain INSERT takes 3 to 6 µs less for each call. */
  async #acceptAll(session: Session, given: readonly AcceptItem[], { plain, patient }: Inserts): Promise<void> {
    // In the order of a unique index, so that two nodes with the same keys do not wait for each other.
    const items = [...given].sort((a, b) => (a.value.requestKey < b.value.requestKey ? -1 : 1))
    const node = this.#parts.node()
    if (!items.some(({ uncertain }) => uncertain)) {
      try {
        const { rows } = await session.query(plain, this.#valuesOf(items, plain))
        if (rows.length === items.length) return this.#created(items)
        await this.#joinAgain(session, node)
      } catch (thrown) {
        if (!isDuplicate(thrown)) throw thrown
      }
    }
    const { rows } = await session.query<{ id: string }>(patient, this.#valuesOf(items, patient))
    const inserted = new Set(rows.map(({ id }) => id))
    const isIn = ({ value }: AcceptItem) => inserted.has(encodeText(value.instance.id))
    const refused = items.filter((item) => !isIn(item))
    if (plain.fresh && inserted.size === 0 && !(await this.#isMember(session, node)))
      await this.#joinAgain(session, node)
    const taken: (Acceptance | Fault)[] = []
    for (const item of refused) taken.push(await this.#takenBy(session, item))
    this.#created(items.filter(isIn))
    refused.forEach((item, at) => void settle(item, taken[at] as Acceptance | Fault, this.#parts.fresh))
  }

  /** Others took this node for dead, so nothing was inserted. It is tried again under a new number. */
  async #joinAgain(session: Session, node: number): Promise<never> {
    await this.#parts.missing(session, node)
    throw new SendAgain()
  }

  async #isMember(session: Session, node: number): Promise<boolean> {
    return (await session.query(this.#member, [node])).rows.length > 0
  }

  #valuesOf(items: readonly AcceptItem[], { columns }: Insert): unknown[] {
    const arrays = columns.map(({ type, read }) =>
      encodeArray(
        type,
        items.map(({ value }) => read(value)),
      ),
    )
    return [...arrays, this.#parts.node()]
  }

  #created(items: readonly AcceptItem[]): void {
    this.#parts.accepted(items.map(({ value }) => value.instance))
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
    const { patient } = (isUsual(item.value.instance) ? this.#usual : this.#rare).inserts
    const { instance, requestKey: key } = item.value
    const decided = await transaction(session, async (): Promise<Decided<Acceptance | Fault>> => {
      const refuse = (value: Acceptance | Fault) => ({ commit: false, value })
      if (over !== undefined) {
        // A repeat after a lost answer finds its own row, and must not look at records that it has changed itself.
        if (item.uncertain && (await this.#parts.reads.one(session, instance.id))) return refuse(CREATED)
        if (!(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
        await this.#vacate(session, key, instance, over)
      }
      const { rows } = await session.query(patient, this.#valuesOf([item], patient))
      if (rows.length === 0) return refuse(await this.#takenBy(session, item))
      if (over === undefined && !(await this.#parts.records.apply(session, records))) return refuse(RECORDS_DIFFER)
      return { commit: true, value: CREATED }
    })
    if (decided === CREATED) this.#parts.accepted([instance])
    settle(item, decided, this.#parts.fresh)
  }

  async #vacate(session: Session, key: string, instance: Instance, over: string): Promise<void> {
    const { tenant, owner, requestId } = instance
    const yielded = requestKey(tenant, owner, `yielded:${over}`)
    const entry = `"requestId":${JSON.stringify(requestId)}`
    await session.query(this.#vacateCall, [encodeText(over), key, yielded, entry])
    await session.query(this.#vacateAlias, [encodeText(over), key])
  }

  async #insertOne(session: Session, item: Item<Alias, Created | Taken>, key: string): Promise<void> {
    const { tenant, owner, requestId, instanceId, expiresAt } = item.value
    const names = [tenant, owner, requestId].map(encodeText)
    const times = [expiresAt, this.#parts.now()]
    const values = [aliasId(key), key, ...names, encodeAliasFixed(item.value), ...times, encodeText(instanceId)]
    const { rows } = await session.query(this.#insertAlias, values)
    if (rows.length > 0) return item.done(CREATED)
    const instance = await this.#parts.reads.holderOf(session, key)
    const isOurs = item.uncertain && instance?.id === instanceId && instance.requestId === requestId
    if (isOurs) return item.done(CREATED)
    if (instance) return item.done({ kind: 'request-id-taken', instance })
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

function lanesOf({ instance, requestKey: key, keyHash }: Encoded): string[] {
  const lanes = [`call ${instance.id}`, `request ${key}`]
  if (keyHash !== undefined) lanes.push(`key ${keyHash}`)
  return lanes
}

interface Kind {
  shape: Shape<Encoded, Acceptance>
  inserts: Inserts
}

interface Insert extends Statement {
  columns: typeof USUAL_COLUMNS
  /** It inserts nothing if this node is taken for dead. */
  fresh: boolean
}

interface Inserts {
  /** Fails as a whole if one of the calls conflicts with a stored one. */
  plain: Insert
  /** Leaves out the calls that conflict, and returns the ids of the others. */
  patient: Insert
}

function insertsOf(tables: Tables, kind: 'usual' | 'rare' | 'fresh'): Inserts {
  const columns = kind === 'rare' ? [...USUAL_COLUMNS, ...RARE_COLUMNS] : USUAL_COLUMNS
  const literals = kind === 'rare' ? [] : RARE_COLUMNS
  const names = columns.map(({ name }) => name)
  const into = [...names, ...literals.map(({ name }) => name), 'sweep_at', 'node']
  const node = `$${columns.length + 1}::integer`
  const select = [
    ...names.map((name) => (name === 'state' ? 'u.state::"char"' : `u.${name}`)),
    ...literals.map(({ usual }) => usual),
    'u.keep_until',
    node,
  ]
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`)
  const from = `unnest(${arrays.join(', ')}) AS u (${names.join(', ')})`
  const make = (text: string): Insert => ({ ...statement(text), columns, fresh: kind === 'fresh' })
  const insert = (conflict: string) => {
    const head = `INSERT INTO ${tables.calls} (${into.join(', ')}) SELECT ${select.join(', ')} FROM ${from}`
    // The lock keeps others from taking over this node's calls until these are committed, and can be seen.
    if (kind === 'fresh')
      return `WITH me AS MATERIALIZED (SELECT FROM ${tables.nodes} WHERE node = ${node} FOR KEY SHARE)
        ${head} CROSS JOIN me ${conflict} RETURNING id`
    return `WITH new AS (
        ${head} ${conflict} RETURNING id, operation, tenant, owner, due_at, expires_at, child, held, attempt, state
      ), queued AS (${putDue(tables, 'new', `WHERE state IN (${OPEN})`)}) SELECT id FROM new`
  }
  return { plain: make(insert('')), patient: make(insert('ON CONFLICT DO NOTHING')) }
}
