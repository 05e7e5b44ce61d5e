/** Reads calls: by id, by request id, and by idempotency key. Concurrent reads share a statement. */
import type { Instance } from '../../../core/call/instance.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import type { Batches, Shape } from '../writes/batches.ts'
import { requestKey } from './keys.ts'
import { type AliasColumns, type CallRow, columnsOf, decodeCall, decodeFound } from './rows.ts'

const MOST = 256

type FoundRow = CallRow & AliasColumns & { found_by: string }

export class CallReads {
  readonly #batches: Batches
  readonly #now: () => number
  readonly #byIds: Statement
  readonly #byRequestKeys: Statement
  readonly #byKeyHash: Statement
  readonly #get: Shape<string, Instance | undefined>
  readonly #find: Shape<string, Instance | undefined>

  constructor({ calls }: Tables, batches: Batches, now: () => number) {
    this.#batches = batches
    this.#now = now
    const columns = columnsOf('c')
    this.#byIds = statement(`SELECT ${columns} FROM ${calls} c WHERE c.id = ANY ($1::text[]) AND c.alias_of IS NULL`)
    this.#byRequestKeys = statement(`SELECT ${columns}, NULL AS alias_request_id, NULL::bigint AS alias_expires_at,
        NULL AS alias_fixed, c.request_key::text AS found_by
      FROM ${calls} c WHERE c.request_key = ANY ($1::uuid[]) AND c.alias_of IS NULL
      UNION ALL
      SELECT ${columns}, a.request_id, a.expires_at, a.fixed, a.request_key::text
      FROM ${calls} a JOIN ${calls} c ON c.id = a.alias_of
      WHERE a.request_key = ANY ($1::uuid[]) AND a.alias_of IS NOT NULL`)
    this.#byKeyHash = statement(`SELECT ${columns} FROM ${calls} c WHERE c.key_hash = $1`)
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
  async rows(session: Session, ids: readonly string[]): Promise<Map<string, CallRow>> {
    const wanted = [...new Set(ids)].map(encodeText)
    const { rows } = await session.query<CallRow>(this.#byIds, [encodeArray('text', wanted)])
    return new Map(rows.map((row) => [decodeText(row.id), row]))
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
    const { rows } = await session.query<CallRow>(this.#byKeyHash, [hash])
    return rows[0] && decodeCall(rows[0])
  }

  async #holders(session: Session, keys: readonly string[]): Promise<Map<string, Instance>> {
    const { rows } = await session.query<FoundRow>(this.#byRequestKeys, [encodeArray('uuid', [...new Set(keys)])])
    return new Map(rows.map((row) => [row.found_by.replaceAll('-', ''), decodeFound(row)]))
  }
}
