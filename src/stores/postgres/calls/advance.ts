/** Compare and set: the only way in which an accepted instance changes its state. */
import { applyChange } from '../../../core/call/applied-change.ts'
import { encodeEnding } from '../../../core/call/audit-ending.ts'
import { faultIn, type Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import type { Advanced, Change } from '../../../core/ports/store.ts'
import { type Session, type Statement, statement, transaction } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { Held, HeldCalls } from '../nodes/held-calls.ts'
import type { RecordWrites } from '../records.ts'
import { type Element, type ElementType, encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { dueSource, KEPT, putDue, removeDue, type Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { changeInPlace } from './in-place.ts'
import { PAST_WITH_SENT } from './past.ts'
import type { CallReads } from './reads.ts'
import { type CallRow, COLUMN_NAMES, codeIn, columnsOf, decodeCall, letterOf, lettersOf } from './rows.ts'

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
  /** The call as this node knows it, if it runs it. The result is then computed here, and not sent back. */
  held: Held | undefined
  /** It has no row in `due`. */
  fresh: boolean
  mark: number
}

type AdvanceItem = Item<Marked, Advanced>

interface AdvanceShape extends Shape<Marked, Advanced> {
  updateIn: UpdateIn
}

export class AdvancedCalls {
  readonly #parts: AdvanceParts
  /** One for each combination of columns. */
  readonly #shapes = new Map<string, AdvanceShape>()
  /** The last one, because most changes in a row are alike. */
  #last: { to: Change['to']; from: Change['from']; columns: number; shape: AdvanceShape } | undefined

  constructor(parts: AdvanceParts) {
    this.#parts = parts
  }

  advance(change: Change): Promise<Advanced> {
    const { writes, newMark, held, fresh } = this.#parts
    const { id, records } = change
    if (records && records.length > 0) {
      const lanes = [id, ...records.map(({ key }) => `record ${key}`)]
      const marked = { id, change, held: undefined, fresh: false, mark: newMark() }
      return alone(writes, `advance ${id}`, (session, uncertain) => this.#advanceWith(session, marked, uncertain), {
        lanes: [...new Set(lanes)],
      })
    }
    const standing = isTerminal(change.to) ? held.entry(id) : undefined
    const isHeld = change.attempt === undefined || change.attempt === standing?.instance.attempt
    const known = isHeld ? standing : undefined
    const marked = { id, change, held: known, fresh: known !== undefined && fresh.isFresh(id), mark: newMark() }
    const bytes = change.outcome?.kind === 'result' ? 200 : 0
    return writes.add(this.#shapeOf(marked), marked, { lanes: [id], bytes })
  }

  #shapeOf({ change, held, fresh }: Marked): AdvanceShape {
    const { to, from } = change
    const columns = columnsIn(change) | (held ? KNOWN : 0) | (fresh ? FRESH : 0)
    const last = this.#last
    if (last && last.columns === columns && last.to === to && last.from === from) return last.shape
    const key = `advance ${to} ${from.map(letterOf).join('')} ${columns}`
    const shape = this.#shapes.get(key) ?? this.#newShape(key, change, held !== undefined, fresh)
    this.#shapes.set(key, shape)
    this.#last = { to, from, columns, shape }
    return shape
  }

  #newShape(key: string, change: Change, known: boolean, fresh: boolean): AdvanceShape {
    const { tables } = this.#parts
    const updateIn = perGeneration((generation) => updateOf(tables, generation, change, false, false))
    const endIn = known ? perGeneration((generation) => updateOf(tables, generation, change, true, fresh)) : undefined
    return {
      key,
      most: MOST,
      updateIn,
      run: async (session, items) => {
        const ordered = [...items].sort((a, b) => (a.value.id < b.value.id ? -1 : 1))
        if (endIn && (await this.#endKnown(session, ordered, endIn))) return
        await this.#advanceAll(session, ordered, updateIn)
      },
    }
  }

  /**
   * Ends calls that this node runs. They are where this node last saw them, and have the revision that it knows, so the
   * count of the changed ones is the only answer that is needed. False if it is not as expected: then it is not known
   * which of them have ended.
   */
  async #endKnown(session: Session, items: readonly AdvanceItem[], endIn: UpdateIn): Promise<boolean> {
    const { generations } = this.#parts
    const generation = (items[0] as AdvanceItem).value.held?.generation as number
    const isThere = ({ value }: AdvanceItem) => value.held?.generation === generation
    if (!generations.live.includes(generation) || !items.every(isThere)) return false
    const before = items.map(({ value }) => value.held?.instance as Instance)
    const { columns, ...end } = endIn(generation)
    const values = columns.map(({ type, read }) =>
      encodeArray(
        type,
        items.map(({ value }) => read(value)),
      ),
    )
    const { count } = await session.query(end, values)
    if (count !== items.length) return false
    items.forEach((item, at) => {
      const { change, held } = item.value
      item.done(this.#ended(applyChange(before[at] as Instance, change), held?.node ?? null))
    })
    return true
  }

  #ended(instance: Instance, node: number | null): Advanced {
    const { held, fresh, changed } = this.#parts
    fresh.done(instance.id)
    held.ended(instance.id)
    changed(instance, node)
    return { applied: true, instance }
  }

  async #advanceAll(session: Session, items: readonly AdvanceItem[], updateIn: UpdateIn): Promise<void> {
    const values = items.map(({ value }) => value)
    const applied = new Map<string, Advanced>()
    const standing = await changeInPlace(session, this.#parts, values, async (generation, group) => {
      for (const [id, advanced] of await this.#apply(session, group, updateIn(generation))) applied.set(id, advanced)
      return applied
    })
    for (const item of items) {
      const { id } = item.value
      item.done(applied.get(id) ?? this.#refused(item.value, standing.get(id)))
    }
  }

  /** The results of the changes that were applied. */
  async #apply(
    session: Session,
    items: readonly Marked[],
    { columns, ...update }: Update,
  ): Promise<Map<string, Advanced>> {
    const values = columns.map(({ type, read }) => encodeArray(type, items.map(read)))
    const { rows } = await session.query<CallRow>(update, values)
    const byId = new Map(items.map((marked) => [marked.id, marked]))
    return new Map(rows.map((row) => [row.id, this.#took(byId.get(row.id) as Marked, row)]))
  }

  #took({ change }: Marked, row: CallRow): Advanced {
    const { held, fresh, changed } = this.#parts
    fresh.done(change.id)
    const stored = decodeCall(row)
    // The outcome in the change may have details that are not stored, for a caller that waits on this node.
    const instance = change.outcome ? { ...stored, outcome: change.outcome } : stored
    held.changed(instance)
    changed(instance, row.node)
    return { applied: true, instance }
  }

  /** The mark shows that an earlier try of the same change was committed. */
  #refused(marked: Marked, row: CallRow | undefined): Advanced {
    if (!row) return { applied: false }
    if (row.mark === marked.mark) return this.#took(marked, row)
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
      if (row?.mark === marked.mark) return this.#took(marked, row)
    }
    const { updateIn } = this.#shapeOf(marked)
    const result = await transaction<'applied' | 'differ' | 'refused'>(session, async () => {
      if (!(await records.apply(session, change.records ?? []))) return { commit: false, value: 'differ' }
      const changed = new Set<string>()
      await changeInPlace(session, this.#parts, [marked], async (generation) => {
        const { columns, ...update } = updateIn(generation)
        const values = columns.map(({ type, read }) => encodeArray(type, [read(marked)]))
        if ((await session.query(update, values)).rows.length === 1) changed.add(marked.id)
        return changed
      })
      return changed.size === 1 ? { commit: true, value: 'applied' } : { commit: false, value: 'refused' }
    })
    const row = await standing()
    if (result === 'applied' && row) return this.#took(marked, row)
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
}

type UpdateIn = (generation: number) => Update

/** The columns that a change may set. The statement names only those that it does set. */
const SET: readonly {
  name: string
  type: ElementType
  read(change: Change): string | number | undefined
  /** Default: the value as it was sent. */
  set?: string
}[] = [
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
  { name: 'fault_kind', type: 'text', read: ({ outcome }) => faultIn(outcome)?.kind },
  { name: 'fault_code', type: 'text', read: ({ outcome }) => codeIn(outcome) },
  { name: 'past', type: 'text', set: PAST_WITH_SENT, read: ({ past }) => past && JSON.stringify(past) },
]

/** Bits of a shape, beside those of the columns. */
const KNOWN = 1 << 20
const FRESH = 1 << 21

/**
 * A bit for each column of `SET`, in its order, and for each flag that makes another statement. Written out, because it
 * runs for every end.
 */
function columnsIn(change: Change): number {
  return (
    (change.dueAt === undefined ? 0 : 1) |
    (change.outcome === undefined ? 0 : 2) |
    (change.settled === undefined ? 0 : 4) |
    (change.failures === undefined ? 0 : 8) |
    (change.expiresAt === undefined ? 0 : 16) |
    (change.keepUntil === undefined ? 0 : 32) |
    (change.endedAt === undefined ? 0 : 64) |
    (change.audit === undefined ? 0 : 128) |
    (change.extras === undefined ? 0 : 256) |
    (change.waiting == null ? 0 : 512) |
    (change.outcome?.kind === 'fault' ? 1024 | 2048 : 0) |
    (change.past === undefined ? 0 : 4096) |
    (change.attempt === undefined ? 0 : 8192) |
    (change.untold === undefined ? 0 : 16_384) |
    (change.waiting === null ? 32_768 : 0) |
    (change.releaseKey === true ? 65_536 : 0)
  )
}

function updateOf(tables: Tables, generation: number, change: Change, known: boolean, fresh: boolean): Update {
  const { to, from, attempt, untold, waiting, releaseKey } = change
  const ends = isTerminal(to)
  const columns: ChangeColumn[] = [
    { name: 'id', type: 'uuid', read: known ? ({ id }) => id : ({ id }) => encodeId(id) },
    { name: 'mark', type: 'int8', read: ({ mark }) => mark },
  ]
  const set = [`state = '${letterOf(to)}'`, 'revision = c.revision + 1', 'mark = u.mark']
  // Every claim raises the revision too, so the revision that this node knows is as good a fence as the attempt.
  const fence = known ? 'revision' : 'attempt'
  if (known) columns.push({ name: fence, type: 'int4', read: (marked) => marked.held?.instance.revision ?? null })
  else if (attempt !== undefined)
    columns.push({ name: fence, type: 'int4', read: (marked) => marked.change.attempt as number })
  const wanted = columnsIn(change)
  for (const [at, { name, type, read, set: value = `u.${name}` }] of SET.entries()) {
    if (!(wanted & (1 << at))) continue
    columns.push({ name, type, read: (marked) => read(marked.change) ?? null })
    if (!untold || (name !== 'expires_at' && name !== 'keep_until')) {
      set.push(`${name} = ${value}`)
      continue
    }
    const field = name === 'expires_at' ? 'expiresAt' : 'keepUntil'
    columns.push({ name: `untold_${name}`, type, read: (marked) => marked.change.untold?.[field] ?? null })
    set.push(`${name} = CASE WHEN c.told THEN u.${name} ELSE u.untold_${name} END`)
  }
  if (change.dueAt === undefined) set.push('due_at = NULL')
  // The attempt is over, and the next one has a start of its own.
  if (change.settled !== undefined) set.push('begun_at = NULL')
  if (change.extras) {
    columns.push({ name: 'held', type: 'bool', read: (marked) => marked.change.extras?.held === true })
    set.push('held = u.held')
    columns.push({ name: 'unbegun', type: 'bool', read: ({ change }) => hasNotBegun(change) })
  }
  if (waiting === null) set.push('waiting = NULL', 'answer = NULL')
  if (releaseKey) set.push('key_hash = NULL')
  // Only kept calls are swept by time. A value that stays the same leaves the index alone.
  if (generation === KEPT && (ends || change.keepUntil !== undefined))
    set.push(`sweep_at = least(c.sweep_at, ${keepUntilIn(change)})`)
  const fenced = known || attempt !== undefined ? ` AND c.${fence} = u.${fence}` : ''
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`)
  const source = `FROM unnest(${arrays.join(', ')}) AS u (${columns.map(({ name }) => name).join(', ')})`
  const where = `WHERE c.id = u.id AND c.state IN (${lettersOf(from)})${fenced}`
  const update = `UPDATE ${tables.calls(generation)} c SET ${set.join(', ')} ${source}`
  if (fresh) return { ...statement(`${update} ${where}`), columns }
  // A call that this node has claimed has a row in `due`, so the rows that are removed are as many as the ends.
  if (known) {
    const text = `WITH changed AS (${update} ${where} RETURNING c.id) ${removeDue(tables, 'changed')}`
    return { ...statement(text), columns }
  }
  const unstarted = change.extras ? '(f.attempt = 0 OR f.unbegun)' : 'f.attempt = 0'
  const changed = `${update} JOIN ${tables.callers(generation)} k ON true
    ${where} AND c.mark IS DISTINCT FROM u.mark AND k.hash = c.caller
    RETURNING ${columnsOf(generation)}, ${dueSource('c')}${change.extras ? ', u.unbegun' : ''}`
  const due = ends ? removeDue(tables, 'changed') : putDue(tables, generation, 'changed', { unstarted })
  const text = `WITH changed AS (${changed}), due AS (${due}) SELECT ${COLUMN_NAMES} FROM changed`
  return { ...statement(text), columns }
}

/** Its handler was never started. */
function hasNotBegun({ attempt, extras }: Change): boolean {
  return attempt !== undefined && attempt === extras?.unbegun
}

function keepUntilIn({ keepUntil, untold }: Change): string {
  if (keepUntil === undefined) return 'c.keep_until'
  return untold ? 'CASE WHEN c.told THEN u.keep_until ELSE u.untold_keep_until END' : 'u.keep_until'
}
