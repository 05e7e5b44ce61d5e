/**
 * Changes beside those of the engine's transitions: a start, progress, a mark that a caller was told, a stop request, an
 * answer.
 */
import type { Instance, Progress } from '../../../core/call/instance.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Advanced, Lease } from '../../../core/ports/store.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import type { HeldCalls } from '../nodes/held-calls.ts'
import { type Element, type ElementType, encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { changeInPlace } from './in-place.ts'
import type { CallReads } from './reads.ts'
import { type CallRow, COLUMN_NAMES, columnsOf, decodeCall, OPEN } from './rows.ts'

const MOST = 256

export interface SmallChangeParts {
  tables: Tables
  generations: Generations
  writes: Batches
  reads: CallReads
  held: HeldCalls
  newMark(): number
  now(): number
  changed(instance: Instance, node: number | null): void
  /** This call has a row in `due` now. */
  registered(id: string): void
}

interface Reported extends Lease {
  text: string
}

interface Begun extends Lease {
  begunAt: number
}

interface Answer {
  id: string
  text: string
  failures: number | undefined
  mark: number
}

type Columns<V> = readonly (readonly [name: string, type: ElementType, read: (value: V) => Element])[]

export class SmallChanges {
  readonly #parts: SmallChangeParts
  readonly #progress: Shape<Reported, void>
  readonly #begin: Shape<Begun, void>
  readonly #tell: Shape<{ id: string }, Instance | undefined>
  readonly #stop: Shape<{ id: string }, void>
  readonly #answer: Shape<Answer, Advanced>

  constructor(parts: SmallChangeParts) {
    this.#parts = parts
    const { tables } = parts
    const id = <V extends { id: string }>() => ['id', 'uuid', ({ id }: V) => encodeId(id)] as const
    const textOf = <V>(generation: number, columns: Columns<V>, set: string, where: string): string => {
      const arrays = columns.map(([, type], at) => `$${at + 1}::${type}[]`)
      return `UPDATE ${tables.calls(generation)} c SET revision = c.revision + 1, ${set}
        FROM unnest(${arrays.join(', ')}) AS u (${columns.map(([name]) => name).join(', ')})
          JOIN ${tables.callers(generation)} k ON true
        WHERE c.id = u.id AND k.hash = c.caller AND c.state IN (${OPEN}) AND ${where}
        RETURNING ${columnsOf(generation)}, ${dueSource('c')}`
    }
    const change = <V>(columns: Columns<V>, set: string, where: string) =>
      perGeneration((generation) => statement(textOf(generation, columns, set, where)))

    const reported: Columns<Reported> = [
      id(),
      ['attempt', 'int4', ({ attempt }) => attempt],
      ['progress', 'text', ({ text }) => text],
    ]
    const progress = change(reported, 'progress = u.progress', 'c.attempt = u.attempt')
    this.#progress = shapeOf('progress', async (session, items) => {
      await this.#update(session, items, reported, progress)
      for (const item of items) item.done()
    })

    const begun: Columns<Begun> = [
      id(),
      ['attempt', 'int4', ({ attempt }) => attempt],
      ['begun_at', 'int8', ({ begunAt }) => begunAt],
    ]
    const begin = change(begun, `state = 'p', begun_at = u.begun_at`, `c.attempt = u.attempt AND c.state = 'a'`)
    this.#begin = shapeOf('begin', async (session, items) => {
      await this.#update(session, items, begun, begin)
      for (const item of items) item.done()
    })

    const only: Columns<{ id: string }> = [id()]
    const tell = change(only, 'told = true', 'NOT c.told')
    this.#tell = shapeOf('tell', async (session, items) => {
      const { changed, standing } = await this.#update(session, items, only, tell)
      for (const item of items) {
        const row = standing.get(item.value.id)
        item.done(changed.get(item.value.id) ?? (row && decodeCall(row)))
      }
    })

    const stop = change(only, 'stop_requested = true', 'NOT c.stop_requested')
    this.#stop = shapeOf('stop', async (session, items) => {
      await this.#update(session, items, only, stop)
      for (const item of items) item.done()
    })

    const answered: Columns<Answer> = [
      id(),
      ['answer', 'text', ({ text }) => text],
      ['failures', 'int4', ({ failures }) => failures ?? null],
      ['mark', 'int8', ({ mark }) => mark],
      ['now', 'int8', () => parts.now()],
    ]
    const answer = perGeneration((generation) => {
      const update = textOf(
        generation,
        answered,
        'answer = u.answer, mark = u.mark, due_at = CASE WHEN c.attempt = c.settled THEN u.now ELSE c.due_at END',
        'c.failures = coalesce(u.failures, c.failures) AND c.waiting IS NOT NULL AND c.answer IS NULL',
      )
      const due = putDue(tables, generation, 'changed')
      return statement(`WITH changed AS (${update}), due AS (${due}) SELECT ${COLUMN_NAMES} FROM changed`)
    })
    this.#answer = shapeOf('answer', async (session, items) => {
      const { changed, standing } = await this.#update(session, items, answered, answer)
      for (const id of changed.keys()) parts.registered(id)
      for (const item of items) item.done(resultOf(item, changed, standing))
    })
  }

  progress({ id, attempt }: Lease, progress: Progress): Promise<void> {
    return this.#add(this.#progress, { id, attempt, text: JSON.stringify(progress) })
  }

  /** A call that this node has claimed in the commit of its acceptance has begun. */
  begin(id: string, attempt: number, begunAt: number): Promise<void> {
    return this.#add(this.#begin, { id, attempt, begunAt })
  }

  tell(id: string): Promise<Instance | undefined> {
    return this.#add(this.#tell, { id })
  }

  requestStop(id: string): Promise<void> {
    return this.#add(this.#stop, { id })
  }

  answer(id: string, answer: JsonValue, failures: number | undefined): Promise<Advanced> {
    return this.#add(this.#answer, { id, text: JSON.stringify(answer), failures, mark: this.#parts.newMark() })
  }

  #add<V extends { id: string }, R>(shape: Shape<V, R>, value: V): Promise<R> {
    return this.#parts.writes.add(shape, value, { lanes: [value.id] })
  }

  /** The calls that were changed, as they are now, and the rows of the others. */
  async #update<V extends { id: string }>(
    session: Session,
    items: readonly Item<V, unknown>[],
    columns: Columns<V>,
    updateIn: (generation: number) => Statement,
  ): Promise<{ changed: ReadonlyMap<string, Instance>; standing: ReadonlyMap<string, CallRow> }> {
    const { held, changed: tellChanged } = this.#parts
    const changed = new Map<string, Instance>()
    const values = items.map(({ value }) => value)
    const standing = await changeInPlace(session, this.#parts, values, async (generation, group) => {
      const arrays = columns.map(([, type, read]) => encodeArray(type, group.map(read)))
      const { rows } = await session.query<CallRow>(updateIn(generation), arrays)
      for (const row of rows) {
        const instance = decodeCall(row)
        changed.set(row.id, instance)
        held.changed(instance)
        tellChanged(instance, row.node)
      }
      return changed
    })
    return { changed, standing }
  }
}

function resultOf(
  { value, uncertain }: Item<Answer, Advanced>,
  changed: ReadonlyMap<string, Instance>,
  standing: ReadonlyMap<string, CallRow>,
): Advanced {
  const after = changed.get(value.id)
  if (after) return { applied: true, instance: after }
  const row = standing.get(value.id)
  return row ? { applied: uncertain && row.mark === value.mark, instance: decodeCall(row) } : { applied: false }
}

function shapeOf<V, R>(key: string, run: Shape<V, R>['run']): Shape<V, R> {
  return { key, most: MOST, run }
}
