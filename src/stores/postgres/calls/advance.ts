/** Compare and set: the only way in which an accepted instance changes its state. */
import { applyChange } from '../../../core/call/applied-change.ts'
import { encodeEnding } from '../../../core/call/audit-ending.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import type { Advanced, Change } from '../../../core/ports/store.ts'
import { type Session, type Statement, statement, transaction } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { HeldCalls } from '../nodes/held-calls.ts'
import type { RecordWrites } from '../records.ts'
import { type Element, type ElementType, encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { dueSource, KEPT, putDue, removeDue, type Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { changeInPlace } from './in-place.ts'
import type { CallReads } from './reads.ts'
import { type CallRow, COLUMN_NAMES, columnsOf, decodeCall, letterOf, lettersOf } from './rows.ts'

const MOST = 256

export interface AdvanceParts {
  tables: Tables
  generations: Generations
  writes: Batches
  reads: CallReads
  records: RecordWrites
  held: HeldCalls
  fresh: FreshCalls
  /** A number that no other write has. */
  newMark(): number
  /** After the commit. `node` accepted the call. */
  changed(instance: Instance, node: number | null): void
}

interface Marked {
  /** Of the call. */
  id: string
  change: Change
  /** The instance as this node knows it, if it runs it. The result is then computed here, and not sent back. */
  before: Instance | undefined
  /** It has no row in `due`. */
  fresh: boolean
  mark: number
}

type AdvanceItem = Item<Marked, Advanced>

export class AdvancedCalls {
  readonly #parts: AdvanceParts
  /** One for each combination of columns. */
  readonly #shapes = new Map<string, Shape<Marked, Advanced> & { updateIn: UpdateIn }>()

  constructor(parts: AdvanceParts) {
    this.#parts = parts
  }

  advance(change: Change): Promise<Advanced> {
    const { writes, newMark, held, fresh } = this.#parts
    const lane = `call ${change.id}`
    const { records } = change
    if (records && records.length > 0) {
      const lanes = [lane, ...records.map(({ key }) => `record ${key}`)]
      const marked = { id: change.id, change, before: undefined, fresh: false, mark: newMark() }
      return alone(
        writes,
        `advance ${change.id}`,
        (session, uncertain) => this.#advanceWith(session, marked, uncertain),
        {
          lanes: [...new Set(lanes)],
        },
      )
    }
    const before = isTerminal(change.to) ? held.get(change.id) : undefined
    const isFresh = before !== undefined && fresh.isFresh(change.id)
    const marked = { id: change.id, change, before, fresh: isFresh, mark: newMark() }
    const bytes = change.outcome?.kind === 'result' ? 200 : 0
    return writes.add(this.#shapeOf(marked), marked, { lanes: [lane], bytes })
  }

  #shapeOf(marked: Marked): Shape<Marked, Advanced> & { updateIn: UpdateIn } {
    const { change, before, fresh } = marked
    const known = before !== undefined
    const key = `advance ${keyOf(change)} ${known} ${fresh}`
    const found = this.#shapes.get(key)
    if (found) return found
    const updateIn = perGeneration((generation) => updateOf(this.#parts.tables, generation, change, known, fresh))
    const shape = {
      key,
      most: MOST,
      updateIn,
      run: (session: Session, items: readonly AdvanceItem[]) => this.#advanceAll(session, items, updateIn),
    }
    this.#shapes.set(key, shape)
    return shape
  }

  async #advanceAll(session: Session, given: readonly AdvanceItem[], updateIn: UpdateIn): Promise<void> {
    const items = [...given].sort((a, b) => (a.value.id < b.value.id ? -1 : 1))
    const values = items.map(({ value }) => value)
    const applied = new Map<string, Advanced>()
    const standing = await changeInPlace(session, this.#parts, values, async (generation, group) => {
      for (const [id, advanced] of await this.#apply(session, group, updateIn(generation))) applied.set(id, advanced)
      return applied
    })
    for (const item of items) {
      const { id } = item.value
      item.done(applied.get(id) ?? this.#refused(item.value, item.uncertain, standing.get(id)))
    }
  }

  /** The results of the changes that were applied. */
  async #apply(
    session: Session,
    items: readonly Marked[],
    { columns, known, ...update }: Update,
  ): Promise<Map<string, Advanced>> {
    const values = columns.map(({ type, read }) => encodeArray(type, items.map(read)))
    const { rows } = await session.query<CallRow>(update, values)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const applied = new Map<string, Advanced>()
    const unsure: Marked[] = []
    for (const marked of items) {
      const row = byId.get(marked.id)
      if (!row) continue
      // Another node has changed it since: what this node knows is old.
      if (known && marked.before?.revision !== row.revision - 1) unsure.push(marked)
      else applied.set(marked.id, this.#took(marked, known ? undefined : row, row.node))
    }
    if (unsure.length === 0) return applied
    const current = await this.#parts.reads.rows(
      session,
      unsure.map(({ id }) => id),
    )
    for (const marked of unsure) {
      const row = current.get(marked.id)
      applied.set(marked.id, row ? this.#took(marked, row, row.node) : { applied: true })
    }
    return applied
  }

  #took({ change, before }: Marked, row: CallRow | undefined, node: number | null): Advanced {
    const { held, fresh, changed } = this.#parts
    fresh.done(change.id)
    const stored = row ? decodeCall(row) : applyChange(before as Instance, change)
    // The outcome in the change may have details that are not stored, for a caller that waits on this node.
    const instance = change.outcome ? { ...stored, outcome: change.outcome } : stored
    held.changed(instance)
    changed(instance, node)
    return { applied: true, instance }
  }

  #refused(marked: Marked, uncertain: boolean, row: CallRow | undefined): Advanced {
    if (!row) return { applied: false }
    if (uncertain && row.mark === marked.mark) return this.#took(marked, row, row.node)
    const instance = decodeCall(row)
    this.#parts.held.changed(instance)
    return { applied: false, instance }
  }

  /** With records, in a transaction of its own. */
  async #advanceWith(session: Session, marked: Marked, uncertain: boolean): Promise<Advanced> {
    const { change } = marked
    const { reads, records } = this.#parts
    const standing = async () => (await reads.rows(session, [change.id])).get(change.id)
    if (uncertain) {
      const row = await standing()
      if (row?.mark === marked.mark) return this.#took(marked, row, row.node)
    }
    const { updateIn } = this.#shapeOf(marked)
    const result = await transaction<'applied' | 'differ' | 'refused'>(session, async () => {
      if (!(await records.apply(session, change.records ?? []))) return { commit: false, value: 'differ' }
      const changed = new Set<string>()
      await changeInPlace(session, this.#parts, [marked], async (generation) => {
        const { columns, known: _, ...update } = updateIn(generation)
        const values = columns.map(({ type, read }) => encodeArray(type, [read(marked)]))
        if ((await session.query(update, values)).rows.length === 1) changed.add(marked.id)
        return changed
      })
      return changed.size === 1 ? { commit: true, value: 'applied' } : { commit: false, value: 'refused' }
    })
    const row = await standing()
    if (result === 'applied' && row) return this.#took(marked, row, row.node)
    const instance = row && decodeCall(row)
    return {
      applied: false,
      ...(result === 'differ' && { recordsDiffer: true }),
      ...(instance && { instance }),
    }
  }
}

/** A column of `unnest`, with the value that a change has for it. */
interface ChangeColumn {
  name: string
  type: ElementType
  read(marked: Marked): Element
}

interface Update extends Statement {
  columns: readonly ChangeColumn[]
  known: boolean
}

type UpdateIn = (generation: number) => Update

/** The columns that a change may set. The statement names only those that it does set. */
const SET: readonly { name: string; type: ElementType; read(change: Change): string | number | undefined }[] = [
  { name: 'due_at', type: 'int8', read: ({ dueAt }) => dueAt },
  { name: 'outcome', type: 'text', read: ({ outcome }) => outcome && JSON.stringify(outcome) },
  { name: 'settled', type: 'int4', read: ({ settled }) => settled },
  { name: 'failures', type: 'int4', read: ({ failures }) => failures },
  { name: 'expires_at', type: 'int8', read: ({ expiresAt }) => expiresAt },
  { name: 'keep_until', type: 'int8', read: ({ keepUntil }) => keepUntil },
  { name: 'ended_at', type: 'int8', read: ({ endedAt }) => endedAt },
  { name: 'audit', type: 'text', read: ({ audit }) => audit && encodeEnding(audit) },
  { name: 'extras', type: 'text', read: ({ extras }) => extras && JSON.stringify(extras) },
  { name: 'waiting', type: 'text', read: ({ waiting }) => (waiting == null ? undefined : JSON.stringify(waiting)) },
]

const has = ({ name }: (typeof SET)[number], change: Change): boolean =>
  FIELDS[name as keyof typeof FIELDS](change) !== undefined

/** Whether a column is set, without encoding its value. */
const FIELDS = {
  due_at: ({ dueAt }: Change) => dueAt,
  outcome: ({ outcome }: Change) => outcome,
  settled: ({ settled }: Change) => settled,
  failures: ({ failures }: Change) => failures,
  expires_at: ({ expiresAt }: Change) => expiresAt,
  keep_until: ({ keepUntil }: Change) => keepUntil,
  ended_at: ({ endedAt }: Change) => endedAt,
  audit: ({ audit }: Change) => audit,
  extras: ({ extras }: Change) => extras,
  waiting: ({ waiting }: Change) => waiting ?? undefined,
}

function keyOf(change: Change): string {
  const { to, from, attempt, untold, waiting, releaseKey } = change
  const columns = SET.map((column) => (has(column, change) ? '1' : '0')).join('')
  const flags = [attempt !== undefined, untold !== undefined, waiting === null, releaseKey === true]
  return [to, from.map(letterOf).join(''), columns, flags.map((flag) => (flag ? '1' : '0')).join('')].join(' ')
}

function updateOf(tables: Tables, generation: number, change: Change, known: boolean, fresh: boolean): Update {
  const { to, from, attempt, untold, waiting, releaseKey } = change
  const ends = isTerminal(to)
  const columns: ChangeColumn[] = [
    { name: 'id', type: 'uuid', read: ({ id }) => encodeId(id) },
    { name: 'mark', type: 'int8', read: ({ mark }) => mark },
  ]
  const set = [`state = '${letterOf(to)}'`, 'revision = c.revision + 1', 'mark = u.mark']
  if (attempt !== undefined)
    columns.push({ name: 'attempt', type: 'int4', read: (marked) => marked.change.attempt as number })
  for (const column of SET) {
    const { name, type, read } = column
    if (!has(column, change)) continue
    columns.push({ name, type, read: (marked) => read(marked.change) ?? null })
    if (!untold || (name !== 'expires_at' && name !== 'keep_until')) {
      set.push(`${name} = u.${name}`)
      continue
    }
    const field = name === 'expires_at' ? 'expiresAt' : 'keepUntil'
    columns.push({ name: `untold_${name}`, type, read: (marked) => marked.change.untold?.[field] ?? null })
    set.push(`${name} = CASE WHEN c.told THEN u.${name} ELSE u.untold_${name} END`)
  }
  if (change.dueAt === undefined) set.push('due_at = NULL')
  if (change.extras) {
    columns.push({ name: 'held', type: 'bool', read: (marked) => marked.change.extras?.held === true })
    set.push('held = u.held')
  }
  if (waiting === null) set.push('waiting = NULL', 'answer = NULL')
  if (releaseKey) set.push('key_hash = NULL')
  // Only kept calls are swept by time. A value that stays the same leaves the index alone.
  if (generation === KEPT && (ends || change.keepUntil !== undefined))
    set.push(`sweep_at = least(c.sweep_at, ${keepUntilIn(change)})`)
  const fence = attempt === undefined ? '' : ' AND c.attempt = u.attempt'
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`)
  const returned = known ? 'c.id, c.revision, c.node' : `${columnsOf(generation)}, ${dueSource('c')}`
  const caller = known ? '' : `JOIN ${tables.callers(generation)} k ON true`
  const update = `UPDATE ${tables.calls(generation)} c SET ${set.join(', ')}
    FROM unnest(${arrays.join(', ')}) AS u (${columns.map(({ name }) => name).join(', ')}) ${caller}
    WHERE c.id = u.id AND c.state IN (${lettersOf(from)})${fence} AND c.mark IS DISTINCT FROM u.mark
      ${known ? '' : 'AND k.hash = c.caller'} RETURNING ${returned}`
  if (fresh) return { ...statement(update), columns, known }
  const due = ends ? removeDue(tables, 'changed') : putDue(tables, generation, 'changed')
  const names = known ? 'id, revision, node' : COLUMN_NAMES
  const text = `WITH changed AS (${update}), due AS (${due}) SELECT ${names} FROM changed`
  return { ...statement(text), columns, known }
}

function keepUntilIn({ keepUntil, untold }: Change): string {
  if (keepUntil === undefined) return 'c.keep_until'
  return untold ? 'CASE WHEN c.told THEN u.keep_until ELSE u.untold_keep_until END' : 'u.keep_until'
}
