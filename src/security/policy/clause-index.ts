/**
 * Finds the clauses that hold for a call. It evaluates only clauses that share a key with the call, and clauses without
 * a key.
 */
import type { Clause, Dimension, Gate, Key, Scalar, Situation } from './clause.ts'

export interface Indexed<T> {
  readonly clause: Clause
  readonly value: T
}

/** The entries of one dimension. Its value is read once for all of them. */
interface Shelf<T> {
  readonly dimension: Dimension
  readonly byValue: Map<Scalar, Indexed<T>[]>
  readonly gated: { passes: Gate['passes']; entry: Indexed<T> }[]
}

export class ClauseIndex<T> {
  readonly #shelves: readonly Shelf<T>[]
  readonly #others: readonly Indexed<T>[]

  constructor(entries: readonly Indexed<T>[]) {
    const crowds = countKeys(entries)
    const shelves = new Map<string, Shelf<T>>()
    const others: Indexed<T>[] = []
    for (const entry of entries) {
      const { gate } = entry.clause
      const keys = leastShared(entry.clause, crowds)
      if (keys) for (const { dimension, value } of keys) file(shelfFor(shelves, dimension).byValue, value, entry)
      else if (gate) shelfFor(shelves, gate.dimension).gated.push({ passes: gate.passes, entry })
      else others.push(entry)
    }
    this.#shelves = [...shelves.values()]
    this.#others = others
  }

  /** A clause with several keys may be returned more than once. */
  matching(situation: Situation): T[] {
    const found: T[] = []
    const add = ({ clause, value }: Indexed<T>) => {
      if (clause.holds(situation)) found.push(value)
    }
    this.#others.forEach(add)
    for (const { dimension, byValue, gated } of this.#shelves) {
      const read = dimension.read(situation)
      if (!Array.isArray(read)) byValue.get(read as Scalar)?.forEach(add)
      else for (const item of read) byValue.get(item)?.forEach(add)
      for (const { passes, entry } of gated) if (passes(read)) add(entry)
    }
    return found
  }
}

type Crowds = ReadonlyMap<string, ReadonlyMap<Scalar, number>>

function countKeys(entries: readonly Indexed<unknown>[]): Crowds {
  const crowds = new Map<string, Map<Scalar, number>>()
  for (const { dimension, value } of entries.flatMap(({ clause }) => clause.keySets.flat())) {
    const counts = crowds.get(dimension.id) ?? new Map<Scalar, number>()
    crowds.set(dimension.id, counts.set(value, (counts.get(value) ?? 0) + 1))
  }
  return crowds
}

/**
 * Picks the key set that the fewest clauses share: a thousand rules about one role are better indexed by another key.
 */
function leastShared(clause: Clause, crowds: Crowds): readonly Key[] | undefined {
  const crowd = (keys: readonly Key[]) =>
    Math.max(...keys.map(({ dimension, value }) => crowds.get(dimension.id)?.get(value) ?? 0))
  return [...clause.keySets].sort((a, b) => crowd(a) - crowd(b))[0]
}

function shelfFor<T>(shelves: Map<string, Shelf<T>>, dimension: Dimension): Shelf<T> {
  const shelf: Shelf<T> = shelves.get(dimension.id) ?? { dimension, byValue: new Map(), gated: [] }
  shelves.set(dimension.id, shelf)
  return shelf
}

function file<T>(byValue: Map<Scalar, Indexed<T>[]>, value: Scalar, entry: Indexed<T>): void {
  const entries = byValue.get(value)
  if (!entries) byValue.set(value, [entry])
  else if (entries.at(-1) !== entry) entries.push(entry)
}
