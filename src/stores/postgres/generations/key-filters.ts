/**
 * Filters of the keys of closed generations, in this node's memory. A closed generation gains no keys, so an accept whose
 * keys a filter rules out need not look there: 4 µs of the server for each generation. The filters are built in the
 * background. Until one is complete, and beyond the limit of memory, accepts look as before.
 */
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { type Session, statement } from '../connect/session.ts'
import { LOWEST_ID } from '../sql/ids.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { type Generations, perGeneration } from './generations.ts'
import { filterKeyOf, KEY_BYTES, KeyFilter } from './key-filter.ts'

export interface KeyFilterParts {
  tables: Tables
  generations: Generations
  reads: Pick<Batches, 'add'>
  clock: Clock
  log: Log | undefined
  /** Of all filters together. */
  maxBytes?: number
}

/** The keys of an accepted call, each with 32 hex digits. */
export interface Keyed {
  requestKey: string
  keyHash: string | undefined
  instance: { requestId: string }
}

/** For 10 million calls. */
const MAX_BYTES = 64_000_000
/** Rows that one statement reads: some milliseconds. */
const SLICE = 2_000
/** A pause after each slice, as a multiple of its duration. */
const REST = 4
const AGAIN_MS = 60_000
/** More rows than a page usually has, for a table without statistics. */
const ROWS_PER_PAGE = 12
/** The only request ids that a closed generation can gain: a call that gives up its own gets one of these. */
const YIELDED = 'yielded:'

interface Built {
  /** When the generation was closed. After a restored backup, another one may have its number. */
  closedAt: number
  request: KeyFilter
  key: KeyFilter
}

interface SliceRow {
  rows: number
  last: string | null
  request: Buffer | null
  key: Buffer | null
}

export class KeyFilters {
  readonly #parts: KeyFilterParts
  readonly #complete = new Map<number, Built>()
  readonly #count: (generation: number) => ReturnType<typeof statement>
  readonly #slice: (generation: number) => ReturnType<typeof statement>
  /** The list of closed generations as of the last look. */
  #seen: ReadonlyMap<number, number> | undefined
  #building = false
  #cancelPause: (() => void) | undefined
  #ended = false
  #passed: readonly number[] = []

  constructor(parts: KeyFilterParts) {
    this.#parts = parts
    const { calls } = parts.tables
    this.#count = perGeneration((generation) =>
      statement(`SELECT CASE WHEN reltuples > 0 THEN reltuples ELSE ${ROWS_PER_PAGE} * pg_relation_size(oid) / 8192 END::bigint AS rows
        FROM pg_class WHERE oid = to_regclass('${calls(generation).replaceAll("'", "''")}')`),
    )
    this.#slice = perGeneration((generation) =>
      statement(`SELECT count(*)::int AS rows, (array_agg(id ORDER BY id DESC))[1] AS last,
          string_agg(uuid_send(request_key), '') AS request, string_agg(uuid_send(key_hash), '') AS key
        FROM (SELECT id, request_key, key_hash FROM ${calls(generation)} WHERE id > $1 ORDER BY id LIMIT $2) AS slice`),
    )
  }

  /** The closed generations that have none of these keys for certain. The same array as long as they are the same. */
  rulingOut(calls: readonly Keyed[]): readonly number[] {
    const { closed } = this.#parts.generations
    if (closed !== this.#seen) this.#follow(closed)
    if (this.#passed.length === 0) return this.#passed
    for (const call of calls) if (this.#mayHave(call)) return NONE
    return this.#passed
  }

  end(): void {
    this.#ended = true
    this.#cancelPause?.()
  }

  #mayHave({ requestKey, keyHash, instance }: Keyed): boolean {
    if (instance.requestId.startsWith(YIELDED)) return true
    const asRequest = filterKeyOf(requestKey)
    const asKey = keyHash === undefined ? undefined : filterKeyOf(keyHash)
    for (const { request, key } of this.#complete.values())
      if (request.mayHave(asRequest) || (asKey && key.mayHave(asKey))) return true
    return false
  }

  #follow(closed: ReadonlyMap<number, number>): void {
    this.#seen = closed
    for (const [generation, { closedAt }] of this.#complete)
      if (closed.get(generation) !== closedAt) this.#complete.delete(generation)
    this.#passed = [...this.#complete.keys()]
    if (!this.#building && !this.#ended) void this.#buildAll()
  }

  /** Until all closed generations have a filter, or were found to be too large for one. */
  async #buildAll(): Promise<void> {
    const { generations, log } = this.#parts
    this.#building = true
    let tried: ReadonlyMap<number, number> | undefined
    while (!this.#ended && tried !== generations.closed) {
      tried = generations.closed
      try {
        for (const [generation, closedAt] of tried) await this.#buildOne(generation, closedAt)
      } catch (err) {
        tried = undefined
        if (this.#ended) break
        log?.debug({ err }, 'could not read the keys of a generation; accepts look them up')
        await this.#pause(AGAIN_MS)
      }
    }
    this.#building = false
  }

  async #buildOne(generation: number, closedAt: number): Promise<void> {
    if (this.#complete.get(generation)?.closedAt === closedAt) return
    const built = await this.#build(generation, closedAt)
    if (!built || this.#parts.generations.closed.get(generation) !== closedAt) return
    this.#complete.set(generation, built)
    this.#passed = [...this.#complete.keys()]
  }

  /** `undefined` if the generation is gone, or if there is no memory for it. */
  async #build(generation: number, closedAt: number): Promise<Built | undefined> {
    const { reads, generations, clock, maxBytes = MAX_BYTES } = this.#parts
    const ask = <T>(run: (session: Session) => Promise<T>): Promise<T | undefined> =>
      alone(reads, 'keys', async (session) =>
        generations.closed.get(generation) === closedAt ? run(session) : undefined,
      )
    const counted = await ask((session) => session.query<{ rows: number }>(this.#count(generation)))
    const expected = counted?.rows[0]?.rows
    let used = 0
    for (const { request, key } of this.#complete.values()) used += request.bytes + key.bytes
    if (expected === undefined || used + 2 * expected * KEY_BYTES > maxBytes) return undefined
    // As large, because every call may have a key. Memory that is never written is not taken from the system.
    const built: Built = { closedAt, request: new KeyFilter(expected), key: new KeyFilter(expected) }
    let after = LOWEST_ID
    for (;;) {
      const startedMs = clock.monotonicMs()
      const read = await ask((session) => session.query<SliceRow>(this.#slice(generation), [after, SLICE]))
      const row = read?.rows[0]
      if (!row || this.#ended) return undefined
      if (row.request) built.request.addAll(row.request)
      if (row.key) built.key.addAll(row.key)
      if (row.rows < SLICE || row.last === null) return built
      after = row.last
      await this.#pause((clock.monotonicMs() - startedMs) * REST)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.schedule(ms, resolve)
      this.#cancelPause = () => {
        cancel()
        resolve()
      }
    })
  }
}

const NONE: readonly number[] = []
