/** Further request ids of calls. An alias is a row of its own, so that it takes its request id as a call does. */
import { Fault } from '../../../core/fault.ts'
import type { Alias, Created, Taken } from '../../../core/ports/store.ts'
import { SendAgain } from '../connect/failures.ts'
import { type Session, type Statement, statement } from '../connect/session.ts'
import { type Generations, perGeneration, perList } from '../generations/generations.ts'
import { encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import type { Batches, Item, Shape } from '../writes/batches.ts'
import { isNew } from './inserts.ts'
import { requestKey } from './keys.ts'
import type { CallReads } from './reads.ts'
import { ALIAS, encodeAliasFixed } from './rows.ts'

const CREATED: Created = { kind: 'created' }

export interface AliasParts {
  tables: Tables
  generations: Generations
  writes: Batches
  reads: CallReads
  now(): number
}

type AliasItem = Item<Alias, Created | Taken>

export class Aliases {
  readonly #parts: AliasParts
  readonly #insert: (generation: number) => Statement

  constructor(parts: AliasParts) {
    this.#parts = parts
    const { tables, generations } = parts
    // By the generation of the call. The row itself goes to the current one.
    const insert = perList(generations, () =>
      perGeneration((generation) =>
        statement(`INSERT INTO ${tables.calls(generations.current)} (id, request_key, request_id, fixed,
            expires_at, keep_until, alias_of, created_at, operation, state,
            revision, attempt, settled, failures, stop_requested, told, child, held)
          SELECT u.request_key, u.request_key, $2, $3, $4, $4, c.id, $5, '', '${ALIAS}',
            0, 0, 0, 0, false, false, false, false
          FROM ${tables.calls(generation)} c, (SELECT $1::uuid AS request_key) u
          WHERE c.id = $6 AND c.alias_of IS NULL AND ${isNew(tables, generations, { request_key: 'ARRAY[$1::uuid]' })}
          FOR KEY SHARE OF c
          ON CONFLICT DO NOTHING RETURNING id`),
      ),
    )
    this.#insert = (generation) => insert()(generation)
  }

  add(alias: Alias): Promise<Created | Taken> {
    const key = requestKey(alias.tenant, alias.owner, alias.requestId)
    const shape: Shape<Alias, Created | Taken> = {
      key: `alias ${key}`,
      most: 1,
      run: (session, [item]) => this.#insertOne(session, item as AliasItem, key),
    }
    return this.#parts.writes.add(shape, alias, { lanes: [key, alias.instanceId] })
  }

  async #insertOne(session: Session, item: AliasItem, key: string): Promise<void> {
    const { requestId, instanceId, expiresAt } = item.value
    const { reads, now, generations } = this.#parts
    const { current } = generations
    const target = (await reads.rows(session, [instanceId])).get(instanceId)
    if (target) {
      const texts = [encodeText(requestId), encodeAliasFixed(item.value)]
      const values = [key, ...texts, expiresAt, now(), instanceId]
      const { rows } = await session.query(this.#insert(target.generation), values)
      if (rows.length > 0) return item.done(CREATED)
    }
    const instance = await reads.holderOf(session, key)
    const isOurs = item.uncertain && instance?.id === instanceId && instance.requestId === requestId
    if (isOurs) return item.done(CREATED)
    if (instance) return item.done({ kind: 'request-id-taken', instance })
    // The generation was closed, or the call has moved, since it was read.
    const moved = target && (await reads.rows(session, [instanceId])).get(instanceId)
    if (moved) await generations.refresh(session)
    if (moved && (moved.generation !== target.generation || generations.current !== current)) throw new SendAgain()
    item.fail(new Fault('unavailable', 'The call that this one repeats was just removed. Send the call again.'))
  }
}
