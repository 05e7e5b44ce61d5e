/**
 * Reads calls: by id, by request id, and by idempotency key. Concurrent reads share a statement. A call that is not
 * found is looked for in all generations of a new list, so that "not found" is certain.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, groupBy, perGeneration, perList } from '../generations/generations.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId, isId } from '../sql/ids.ts'
import type { Tables } from '../tables.ts'
import type { Batches, Shape } from '../writes/batches.ts'
import { requestKey } from './keys.ts'
import { type AliasRow, type CallRow, decodeAliased, decodeCall, selectCalls } from './rows.ts'

const MOST = 256

interface ById {
  id: string
}

/** A read by ids: in one generation, and in all of them. */
interface Lookup {
  in(generation: number): Statement
  everywhere(): Statement
}

export interface Revision extends ById {
  revision: number
  /** Where the call is. */
  generation: number
}

export class CallReads {
  readonly #batches: Batches
  readonly #generations: Generations
  readonly #now: () => number
  readonly #calls: Lookup
  readonly #revisions: Lookup
  readonly #byRequestKeys: () => Statement
  readonly #aliases: () => Statement
  readonly #byKeyHash: () => Statement
  readonly #get: Shape<string, Instance | undefined>
  readonly #find: Shape<string, Instance | undefined>

  constructor(tables: Tables, generations: Generations, batches: Batches, now: () => number) {
    this.#batches = batches
    this.#generations = generations
    this.#now = now
    const union = (part: (generation: number) => string) =>
      perList(generations, () => statement(generations.live.map(part).join('\nUNION ALL\n')))
    const lookup = (part: (generation: number) => string): Lookup => ({
      in: perGeneration((generation) => statement(part(generation))),
      everywhere: union(part),
    })
    this.#calls = lookup((generation) => `${selectCalls(tables, generation)} WHERE c.id = ANY ($1::uuid[])`)
    this.#revisions = lookup(
      (generation) => `SELECT id, revision, ${generation} AS generation FROM ${tables.calls(generation)}
        WHERE id = ANY ($1::uuid[]) AND alias_of IS NULL`,
    )
    this.#byRequestKeys = union(
      (generation) => `${selectCalls(tables, generation, ', c.request_key')} WHERE c.request_key = ANY ($1::uuid[])`,
    )
    this.#aliases = union(
      (generation) => `SELECT request_key, alias_of, request_id, expires_at, fixed FROM ${tables.calls(generation)}
        WHERE request_key = ANY ($1::uuid[]) AND alias_of IS NOT NULL`,
    )
    this.#byKeyHash = union((generation) => `${selectCalls(tables, generation)} WHERE c.key_hash = $1`)
    this.#get = {
      key: 'get',
      most: MOST,
      run: async (session, items) => {
        const found = await this.many(
          session,
          items.map(({ value }) => value),
        )
        for (const item of items) item.done(found.get(item.value))
      },
    }
    this.#find = {
      key: 'find',
      most: MOST,
      run: async (session, items) => {
        const keys = items.map(({ value }) => value)
        const found = await this.#holders(session, keys)
        for (const item of items) item.done(found.get(item.value))
      },
    }
  }

  get(id: string): Promise<Instance | undefined> {
    return this.#batches.add(this.#get, id)
  }

  async find(tenant: string, owner: string, requestId: string): Promise<Instance | undefined> {
    const instance = await this.#batches.add(this.#find, requestKey(tenant, owner, requestId))
    return instance && instance.expiresAt > this.#now() ? instance : undefined
  }

  /** The rows of calls, by id. */
  rows(session: Session, ids: readonly string[]): Promise<Map<string, CallRow>> {
    return this.#lookUp<CallRow>(session, ids, this.#calls)
  }

  async revisions(session: Session, ids: readonly string[]): Promise<readonly Revision[]> {
    return [...(await this.#lookUp<Revision>(session, ids, this.#revisions)).values()]
  }

  async many(session: Session, ids: readonly string[]): Promise<Map<string, Instance>> {
    const rows = await this.rows(session, ids)
    return new Map([...rows].map(([id, row]) => [id, decodeCall(row)]))
  }

  async one(session: Session, id: string): Promise<Instance | undefined> {
    return (await this.many(session, [id])).get(id)
  }

  /** The instance that has the request id, expired or not. */
  async holderOf(session: Session, key: string): Promise<Instance | undefined> {
    return (await this.#holders(session, [key])).get(key)
  }

  async byKeyHash(session: Session, hash: string): Promise<Instance | undefined> {
    let version: string
    do {
      ;({ version } = this.#generations)
      const { rows } = await session.query<CallRow>(this.#byKeyHash(), [hash])
      if (rows[0]) return decodeCall(rows[0])
    } while (await this.#generations.isNewerThan(version, session))
    return undefined
  }

  /** First in the generation of each id's time, then everywhere. */
  async #lookUp<R extends ById>(session: Session, ids: readonly string[], lookup: Lookup): Promise<Map<string, R>> {
    const found = new Map<string, R>()
    const read = async (by: Statement, wanted: readonly string[]) => {
      const { rows } = await session.query<R>(by, [encodeArray('uuid', wanted.map(encodeId))])
      for (const row of rows) found.set(row.id, row)
    }
    let missing = [...new Set(ids)].filter(isId)
    for (const [generation, group] of groupBy(missing, (id) => this.#generations.guess(id)))
      await read(lookup.in(generation), group)
    let version: string
    do {
      ;({ version } = this.#generations)
      missing = missing.filter((id) => !found.has(id))
      if (missing.length === 0) break
      await read(lookup.everywhere(), missing)
      missing = missing.filter((id) => !found.has(id))
    } while (missing.length > 0 && (await this.#generations.isNewerThan(version, session)))
    return found
  }

  async #holders(session: Session, keys: readonly string[]): Promise<Map<string, Instance>> {
    const found = new Map<string, Instance>()
    let missing = [...new Set(keys)]
    let version: string
    do {
      ;({ version } = this.#generations)
      const { rows } = await session.query<CallRow & { request_key: string }>(this.#byRequestKeys(), [
        encodeArray('uuid', missing),
      ])
      for (const row of rows) found.set(row.request_key.replaceAll('-', ''), decodeCall(row))
      missing = missing.filter((key) => !found.has(key))
      if (missing.length === 0) break
      const aliases = await session.query<AliasRow>(this.#aliases(), [encodeArray('uuid', missing)])
      const targets = await this.rows(
        session,
        aliases.rows.map(({ alias_of }) => alias_of),
      )
      for (const alias of aliases.rows) {
        const target = targets.get(alias.alias_of)
        if (target) found.set(alias.request_key.replaceAll('-', ''), decodeAliased(target, alias))
      }
      missing = missing.filter((key) => !found.has(key))
    } while (missing.length > 0 && (await this.#generations.isNewerThan(version, session)))
    return found
  }
}
