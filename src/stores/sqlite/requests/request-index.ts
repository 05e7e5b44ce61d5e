/**
 * Finds calls by their request ids. New entries stay in memory until there are many, and are then written in the order
 * of the table. Written call by call, each entry took a page of its own: a quarter of the time of a durable call, and
 * half as much again with a million stored calls. An entry is only a hint; the row decides. So a rollback need not
 * change the index, and entries that were lost with the process are rebuilt from the rows.
 */
import type { Database } from 'better-sqlite3'
import type { Log } from '../../../core/ports/runtime.ts'
import type { GroupCommit } from '../group-commit.ts'
import type { InstanceRow } from '../rows.ts'
import { HashTable } from './hash-table.ts'
import { type HashSeeds, hashRequest } from './request-hash.ts'
import { type Generation, RequestTable } from './request-table.ts'

export interface RequestIndexOptions {
  write: GroupCommit['write']
  log: Log | undefined
  /** How many changes are kept in memory (one megabyte), and as many more while they are written. */
  inMemory?: number
}

const IN_MEMORY = 32_768
/** How many rows are read at a time when a file is opened. A file from an earlier version may have more. */
const READ = 100_000

/** The columns of a call that the index uses. */
export type RequestRow = Pick<InstanceRow, 'ref' | 'owner' | 'request_id'>

export class RequestIndex {
  readonly #db: Database
  readonly #write: GroupCommit['write']
  readonly #log: Log | undefined
  readonly #inMemory: number
  readonly #seeds: HashSeeds
  readonly #table: RequestTable
  readonly #rowOf
  #lastRef: number
  /** Calls up to this ref are in the table. */
  #through: number
  #young: Generation = newGeneration()
  /** The generation that is being written. */
  #old: Generation | undefined
  #writeAt: number
  #writing: Promise<void> | undefined
  #closed = false

  constructor(db: Database, { write, log, inMemory = IN_MEMORY }: RequestIndexOptions) {
    this.#db = db
    this.#write = write
    this.#log = log
    this.#inMemory = inMemory
    this.#writeAt = inMemory
    this.#rowOf = db.prepare<[number], InstanceRow>('SELECT * FROM instances WHERE ref = ?')
    const requestOf = db.prepare<[number], RequestRow>('SELECT ref, owner, request_id FROM instances WHERE ref = ?')
    this.#table = new RequestTable(db, log, (hash, ref) => {
      const row = requestOf.get(ref)
      return row !== undefined && this.hashOf(row.owner, row.request_id) === hash
    })
    const { a, b, through, last } = readState(db)
    this.#seeds = { a, b }
    this.#lastRef = last
    this.#through = through
    this.#load(through)
    this.#table.buildFilter()
  }

  hashOf(owner: number, requestId: string): number {
    return hashRequest(this.#seeds, owner, requestId.toWellFormed())
  }

  find(hash: number, owner: number, requestId: string): InstanceRow | undefined {
    const young = this.#young.added.get(hash)
    const old = this.#old?.added.get(hash)
    if (young === undefined && old === undefined && !this.#table.mayHave(hash)) return undefined
    // SQLite returns text in this form.
    const stored = requestId.toWellFormed()
    for (const ref of [young, old, ...this.#table.refsOf(hash)]) {
      const row = ref === undefined ? undefined : this.#rowOf.get(ref)
      if (row?.owner === owner && row.request_id === stored) return row
    }
    return undefined
  }

  /** For a row that is about to be inserted. */
  nextRef(): number {
    return ++this.#lastRef
  }

  /** Only inside the transaction that inserts the row. */
  add(hash: number, ref: number): void {
    this.#keep(hash, ref)
    this.#writeIfDue()
  }

  /** Only inside the transaction that removes the row. */
  remove({ ref, owner, request_id }: RequestRow): void {
    this.#young.gone.set(this.hashOf(owner, request_id), ref)
    this.#writeIfDue()
  }

  /** Only inside the transaction that gives the row its new request id. */
  rename({ ref, owner, request_id }: RequestRow, former: string): void {
    this.#young.gone.set(this.hashOf(owner, former), ref)
    this.add(this.hashOf(owner, request_id), ref)
  }

  /** Stops writing in the background. */
  async stop(): Promise<void> {
    this.#closed = true
    this.#table.close()
    await this.#writing
  }

  /** Writes the removals, because the next process cannot rebuild them. Only after all other writes have ended. */
  writeRemovals(): void {
    for (const generation of [this.#old, this.#young]) {
      if (generation && generation.gone.size > 0) this.#writeAtOnce({ ...generation, through: this.#through })
    }
  }

  #keep(hash: number, ref: number): void {
    const { added } = this.#young
    // The hash is present if the id was used before, or if another id has the same hash.
    if (added.has(hash)) this.#table.put(hash, ref)
    else added.set(hash, ref)
  }

  /** Loads the calls that are not in the table yet. */
  #load(through: number): void {
    const unlisted = this.#db.prepare<[number, number], RequestRow>(
      'SELECT ref, owner, request_id FROM instances WHERE ref > ? ORDER BY ref LIMIT ?',
    )
    for (let after = through; ; ) {
      const rows = unlisted.all(after, READ)
      for (const { ref, owner, request_id } of rows) this.#keep(this.hashOf(owner, request_id), ref)
      if (rows.length < READ) return
      after = rows[READ - 1]?.ref as number
      this.#writeAtOnce({ ...this.#young, through: after })
      this.#young = newGeneration()
    }
  }

  #writeAtOnce(generation: Generation): void {
    this.#db
      .transaction(() => {
        for (const write of this.#table.slicesOf(generation)) write([])
      })
      .immediate()
    this.#through = generation.through
  }

  #writeIfDue(): void {
    if (this.#writing || this.#closed || sizeOf(this.#young) < this.#writeAt) return
    this.#writing = this.#writeInSlices().finally(() => {
      this.#writing = undefined
    })
  }

  async #writeInSlices(): Promise<void> {
    try {
      this.#old ??= this.#freeze()
      let before = 0
      // Twice as many as were added meanwhile. Otherwise the next generation would be larger than this one.
      const least = (): number => {
        const came = sizeOf(this.#young) - before
        before += came
        return 2 * came
      }
      for (const write of this.#table.slicesOf(this.#old, least)) {
        await this.#write(write)
        if (this.#closed) return
      }
      this.#through = this.#old.through
      this.#old = undefined
      this.#writeAt = this.#inMemory
    } catch (err) {
      this.#writeAt = sizeOf(this.#young) + this.#inMemory
      this.#log?.warn({ err }, 'could not write the index of request ids; it stays in memory until the next try')
    }
  }

  #freeze(): Generation {
    const old = { ...this.#young, through: this.#lastRef }
    this.#young = newGeneration()
    return old
  }
}

function readState(db: Database): HashSeeds & { through: number; last: number } {
  const state = db.prepare<[], HashSeeds & { through: number; last: number }>(
    `SELECT seed_a AS a, seed_b AS b, through,
       max(through, coalesce((SELECT max(ref) FROM instances), 0)) AS last FROM request_index`,
  )
  return state.get() as HashSeeds & { through: number; last: number }
}

function newGeneration(): Generation {
  return { added: new HashTable(), gone: new Map(), through: 0 }
}

function sizeOf({ added, gone }: Generation): number {
  return added.size + gone.size
}
