/** Compare and set: the only way in which an accepted instance changes its state. */
import { applyChange } from '../../../core/call/applied-change.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import type { Advanced, Change } from '../../../core/ports/store.ts'
import { type Session, transaction } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { HeldCalls } from '../nodes/held-calls.ts'
import type { RecordWrites } from '../records.ts'
import { agreedGroups, batchValues } from '../sql/batch-columns.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { changeInPlace } from './in-place.ts'
import type { CallReads } from './reads.ts'
import { type CallRow, decodeCall, letterOf } from './rows.ts'
import { AGREEMENTS, columnsIn, type Marked, type Update, type UpdateTerms, updateOf } from './updates.ts'

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

/** Bits of a shape, beside those of the columns. */
const KNOWN = 1 << 20
const FRESH = 1 << 21
const BEGUN = 1 << 22

type UpdateIn = (generation: number) => Update

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
    const { id, attempt, records } = change
    const standing = isTerminal(change.to) ? held.entry(id) : undefined
    const isHeld = attempt === undefined || attempt === standing?.instance.attempt
    const known = isHeld ? standing : undefined
    const begunAt = known?.begunAt
    if (records && records.length > 0) {
      const lanes = [id, ...records.map(({ key }) => `record ${key}`)]
      const marked = { id, change, held: undefined, begunAt, fresh: false, mark: newMark() }
      return alone(writes, `advance ${id}`, (session, uncertain) => this.#advanceWith(session, marked, uncertain), {
        lanes: [...new Set(lanes)],
      })
    }
    const marked = {
      id,
      change,
      held: known,
      begunAt,
      fresh: known !== undefined && fresh.isFresh(id),
      mark: newMark(),
    }
    const bytes = change.outcome?.kind === 'result' ? 200 : 0
    return writes.add(this.#shapeOf(marked), marked, { lanes: [id], bytes })
  }

  #shapeOf({ change, held, begunAt, fresh }: Marked): AdvanceShape {
    const { to, from } = change
    const begun = begunAt !== undefined
    const columns = columnsIn(change) | (held ? KNOWN : 0) | (fresh ? FRESH : 0) | (begun ? BEGUN : 0)
    const last = this.#last
    if (last && last.columns === columns && last.to === to && last.from === from) return last.shape
    const key = `advance ${to} ${from.map(letterOf).join('')} ${columns}`
    const shape = this.#shapes.get(key) ?? this.#newShape(key, change, { known: held !== undefined, fresh, begun })
    this.#shapes.set(key, shape)
    this.#last = { to, from, columns, shape }
    return shape
  }

  #newShape(key: string, change: Change, ending: Omit<UpdateTerms, 'agreed'>): AdvanceShape {
    const { tables } = this.#parts
    const terms = { known: false, fresh: false, begun: ending.begun, agreed: 0 }
    const updateIn = perGeneration((generation) => updateOf(tables, generation, change, terms))
    const endsFor = (agreed: number) =>
      perGeneration((generation) => updateOf(tables, generation, change, { ...ending, agreed }))
    const ends = ending.known ? Array.from({ length: AGREEMENTS }, (_, agreed) => endsFor(agreed)) : undefined
    return {
      key,
      most: MOST,
      updateIn,
      run: async (session, items) => {
        const ordered = [...items].sort((a, b) => (a.value.id < b.value.id ? -1 : 1))
        // One mark for all. If the batch is sent again, in one piece or in two, its calls have it already.
        for (const { value } of ordered) value.mark = (ordered[0] as AdvanceItem).value.mark
        if (ends && (await this.#endKnown(session, ordered, ends))) return
        await this.#advanceAll(session, ordered, updateIn)
      },
    }
  }

  /**
   * Ends calls that this node runs. They are where this node last saw them, and have the revision that it knows, so the
   * count of the changed ones is the only answer that is needed. False if it is not as expected: then it is not known
   * which of them have ended. `ends` has the statements for each combination of columns that are the same in all.
   */
  async #endKnown(session: Session, items: readonly AdvanceItem[], ends: readonly UpdateIn[]): Promise<boolean> {
    const { generations } = this.#parts
    const generation = (items[0] as AdvanceItem).value.held?.generation as number
    const isThere = ({ value }: AdvanceItem) => value.held?.generation === generation
    if (!generations.live.includes(generation) || !items.every(isThere)) return false
    const before = items.map(({ value }) => value.held?.instance as Instance)
    const marked = items.map(({ value }) => value)
    const agreed = agreedGroups((ends[0] as UpdateIn)(generation).columns, marked)
    const { columns, ...end } = (ends[agreed] as UpdateIn)(generation)
    const { count } = await session.query(end, batchValues(columns, marked, agreed))
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
    const { rows } = await session.query<CallRow>(update, batchValues(columns, items, 0))
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
    const result = await transaction<CallRow | 'differ' | 'refused'>(session, async () => {
      if (!(await records.apply(session, change.records ?? []))) return { commit: false, value: 'differ' }
      const changed = new Map<string, CallRow>()
      await changeInPlace(session, this.#parts, [marked], async (generation) => {
        const { columns, ...update } = updateIn(generation)
        for (const row of (await session.query<CallRow>(update, batchValues(columns, [marked], 0))).rows)
          changed.set(row.id, row)
        return changed
      })
      const row = changed.get(marked.id)
      return row ? { commit: true, value: row } : { commit: false, value: 'refused' }
    })
    // The row as it was changed here. By now another node may have claimed it.
    if (typeof result !== 'string') return this.#took(marked, result)
    const row = await standing()
    const instance = row && decodeCall(row)
    return {
      applied: false,
      ...(result === 'differ' && { recordsDiffer: true }),
      ...(instance && { instance }),
    }
  }
}
