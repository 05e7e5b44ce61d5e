/**
 * The part of the index of request ids that is in the file: refs of calls by the hashes of their request ids. Changes
 * are written in the order of the hashes, a slice at a time, so that many of them share a page.
 */
import type { Database } from 'better-sqlite3'
import type { Log } from '../../../core/ports/runtime.ts'
import type { Action } from '../group-commit.ts'
import { HashFilter } from './hash-filter.ts'
import type { HashTable } from './hash-table.ts'
import { HASHES } from './request-hash.ts'

/** Changes that are written together. */
export interface Generation {
  /** Refs by hash. */
  added: HashTable
  gone: Map<number, number>
  /** After this generation is written, all calls up to this ref are in the table. */
  through: number
}

/** Changes per transaction, which calls share: they take half a millisecond. */
const SLICE = 256
/** Rows per statement. One statement per row takes half as long again. */
const WIDTH = 64
/** Hashes read in one turn of the event loop, which takes a third of a millisecond. */
const FILTERED = 1_000

export class RequestTable {
  readonly #db: Database
  readonly #log: Log | undefined
  readonly #holds: (hash: number, ref: number) => boolean
  readonly #listed
  readonly #put
  readonly #putMany
  readonly #drop
  readonly #dropOlder
  readonly #setThrough
  #filter: HashFilter | undefined
  /** The filter that is being built. */
  #nextFilter: HashFilter | undefined
  #isSwept = false
  #closed = false

  /** `holds` returns true if the call with this ref has a request id with this hash. */
  constructor(db: Database, log: Log | undefined, holds: (hash: number, ref: number) => boolean) {
    this.#db = db
    this.#log = log
    this.#holds = holds
    this.#listed = db.prepare<[number], number>('SELECT instance FROM requests WHERE hash = ?').pluck()
    this.#put = db.prepare<[number, number]>('INSERT OR IGNORE INTO requests VALUES (?, ?)')
    this.#putMany = db.prepare<number[]>(
      `INSERT OR IGNORE INTO requests VALUES ${Array(WIDTH).fill('(?, ?)').join(', ')}`,
    )
    this.#drop = db.prepare<[number, number]>('DELETE FROM requests WHERE hash = ? AND instance = ?')
    this.#dropOlder = db.prepare<[number, number, number]>(
      `DELETE FROM requests WHERE hash > ? AND hash <= ?
         AND instance < coalesce((SELECT min(ref) FROM instances), ?)`,
    )
    this.#setThrough = db.prepare<[number]>('UPDATE request_index SET through = ?')
  }

  /** False means that the hash is absent, which is the result for nearly every new request id. */
  mayHave(hash: number): boolean {
    return this.#filter?.mayHave(hash) ?? true
  }

  refsOf(hash: number): readonly number[] {
    return this.#listed.all(hash)
  }

  /** Writes one entry at once. */
  put(hash: number, ref: number): void {
    this.#put.run(hash, ref)
    this.#noteListed(hash)
  }

  /**
   * The writes of a generation, in order. Writing an entry twice has no further effect. The first generation also
   * removes entries that an earlier process did not remove before it died, if they are older than all remaining calls.
   * A slice has at least `least` changes.
   */
  *slicesOf({ added, gone, through }: Generation, least = () => 0): Generator<Action<void>> {
    const hashes = new Float64Array(added.size + gone.size)
    hashes.set(added.hashes())
    hashes.set([...gone.keys()], added.size)
    hashes.sort()
    let end = 0
    for (let at = 0; at < hashes.length; at = end) {
      end = at + Math.max(SLICE, least())
      const slice = hashes.subarray(at, end)
      const from = at === 0 ? -1 : (hashes[at - 1] as number)
      const to = end >= hashes.length ? Number.MAX_SAFE_INTEGER : (hashes[end - 1] as number)
      yield () => {
        this.#putAll(slice, added)
        this.#dropAll(slice, gone)
        if (!this.#isSwept) this.#dropOlder.run(from, to, through)
      }
    }
    yield () => void this.#setThrough.run(through)
    this.#isSwept = true
    if (this.#filter?.isFull) this.buildFilter()
  }

  #putAll(hashes: Float64Array, added: HashTable): void {
    let values: number[] = []
    for (const hash of hashes) {
      const ref = added.get(hash)
      if (ref === undefined) continue
      this.#noteListed(hash)
      if (values.push(hash, ref) < 2 * WIDTH) continue
      this.#putMany.run(...values)
      values = []
    }
    for (let at = 0; at < values.length; at += 2) this.#put.run(values[at] as number, values[at + 1] as number)
  }

  #dropAll(hashes: Float64Array, gone: ReadonlyMap<number, number>): void {
    if (gone.size === 0) return
    for (const hash of hashes) {
      const ref = gone.get(hash)
      // The call still has the id if its removal was rolled back.
      if (ref !== undefined && !this.#holds(hash, ref)) this.#drop.run(hash, ref)
    }
  }

  #noteListed(hash: number): void {
    this.#filter?.add(hash)
    this.#nextFilter?.add(hash)
  }

  /**
   * Builds the filter in the background, a part in each turn of the event loop. Until then every lookup reads the
   * table.
   */
  buildFilter(): void {
    if (this.#nextFilter) return
    const hashesAfter = this.#db
      .prepare<[number, number], number>('SELECT hash FROM requests WHERE hash > ? ORDER BY hash LIMIT ?')
      .pluck()
    const readOn = (after: number): void => {
      if (this.#closed) return
      try {
        const hashes = hashesAfter.all(after, FILTERED)
        this.#nextFilter ??= new HashFilter(countBy(hashes))
        for (const hash of hashes) this.#nextFilter.add(hash)
        if (hashes.length === FILTERED) {
          setImmediate(readOn, hashes[FILTERED - 1] as number)
          return
        }
        this.#filter = this.#nextFilter
      } catch (err) {
        this.#log?.warn({ err }, 'could not read the index of request ids; every lookup reads the table')
      }
      this.#nextFilter = undefined
    }
    readOn(-1)
  }

  close(): void {
    this.#closed = true
  }
}

/** Estimates the number of hashes from the lowest ones, because hashes are evenly distributed. */
function countBy(lowest: readonly number[]): number {
  const highest = lowest[FILTERED - 1]
  return highest === undefined ? lowest.length : Math.ceil((FILTERED * HASHES) / highest)
}
