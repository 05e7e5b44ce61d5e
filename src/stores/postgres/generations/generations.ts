/**
 * The generations of calls, as this node last saw them. A statement that relies on an old list does no harm: accepts
 * check in the statement that their generation is the current one, and a call that is not found is looked for again
 * with a new list.
 */

import { timeOfId } from '../../../core/call/id-time.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { KEPT, type Tables } from '../tables.ts'

interface GenerationRow {
  number: number
  state: 'current' | 'closed'
  opened_at: number
  since: number
}

export class Generations {
  readonly #list: Statement
  #current = 0
  /** Newest first. Those from which calls can still be read, apart from the kept ones. */
  #opened: readonly { number: number; openedAt: number }[] = []
  #live: readonly number[] = []
  #version = ''
  #closed: ReadonlyMap<number, number> = new Map()

  constructor({ generations }: Tables) {
    this.#list = statement(`SELECT number, state, opened_at, since FROM ${generations}
      WHERE state IN ('current', 'closed') ORDER BY number DESC`)
  }

  /** Takes new calls. */
  get current(): number {
    return this.#current
  }

  /** All that may have calls: the current one, the closed ones, and the kept calls. */
  get live(): readonly number[] {
    return this.#live
  }

  /** The generations that gain no keys any more, and when each was closed. A new map after each change. */
  get closed(): ReadonlyMap<number, number> {
    return this.#closed
  }

  /** Differs for every list. */
  get version(): string {
    return this.#version
  }

  async refresh(session: Session): Promise<void> {
    const { rows } = await session.query<GenerationRow>(this.#list)
    this.#take(rows)
  }

  /**
   * Reads the list. True if it is not the one of this version, with which a statement found nothing. Another request of
   * this node may have read the new list meanwhile, so it is not enough that this one changes nothing.
   */
  async isNewerThan(version: string, session: Session): Promise<boolean> {
    await this.refresh(session)
    return version !== this.#version
  }

  /** The live generations, without a change of the list that this node uses. For a transaction that may fail. */
  async list(session: Session): Promise<readonly number[]> {
    const { rows } = await session.query<GenerationRow>(this.#list)
    return [...rows.map(({ number }) => number), KEPT]
  }

  #take(rows: readonly GenerationRow[]): void {
    const closed = rows.filter(({ state }) => state === 'closed')
    if (closed.length !== this.#closed.size || closed.some(({ number, since }) => this.#closed.get(number) !== since))
      this.#closed = new Map(closed.map(({ number, since }) => [number, since]))
    const live = [...rows.map(({ number }) => number), KEPT]
    const version = live.join(' ')
    if (version === this.#version) return
    this.#version = version
    this.#live = live
    this.#opened = rows.map(({ number, opened_at }) => ({ number, openedAt: opened_at }))
    this.#current = rows.find(({ state }) => state === 'current')?.number ?? 0
  }

  /** Where a call most likely is, by the time in its id. It can be in a later one if its acceptance took long. */
  guess(id: string): number {
    const time = timeOfId(id)
    return this.#opened.find(({ openedAt }) => openedAt <= time)?.number ?? KEPT
  }
}

/** In a statement: the same text as `version`. */
export function listOfGenerations({ generations }: Tables): string {
  return `(SELECT string_agg(number::text, ' ' ORDER BY number DESC) || ' ${KEPT}' FROM ${generations}
    WHERE state IN ('current', 'closed'))`
}

/** How many statements of one kind are remembered. More generations than this are rarely in use. */
const MOST = 32

/** One statement for each generation, made when it is first needed. */
export function perGeneration<S extends Statement>(make: (generation: number) => S): (generation: number) => S {
  const made = new Map<number, S>()
  return (generation) => {
    const known = made.get(generation)
    if (known) return known
    const [oldest] = made.keys()
    if (made.size >= MOST && oldest !== undefined) made.delete(oldest)
    const one = make(generation)
    made.set(generation, one)
    return one
  }
}

/** A statement that names all live generations, made again when the list changes. */
export function perList<S>(generations: Generations, make: () => S): () => S {
  let made: { version: string; value: S } | undefined
  return () => {
    if (made?.version !== generations.version) made = { version: generations.version, value: make() }
    return made.value
  }
}

/** The items by generation. Nearly always there is one. */
export function groupBy<T>(items: readonly T[], generationOf: (item: T) => number): ReadonlyMap<number, T[]> {
  return Map.groupBy(items, generationOf)
}
