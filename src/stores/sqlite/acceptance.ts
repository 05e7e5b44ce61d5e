/**
 * Taking calls in and finding them again. A request id or an idempotency key stays taken for as long as its row
 * exists, so also between the expiry that hides the row from callers and the purge that removes it.
 */
import type { Database, Statement } from 'better-sqlite3'
import { Fault } from '../../core/fault.ts'
import type { Caller, Instance } from '../../core/model.ts'
import { nameIn } from '../../core/names.ts'
import type { Acceptance, Alias } from '../../core/ports.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import { type AliasRow, decodeInstance, encodeAlias, encodeInstance, type InstanceRow, throughAlias } from './rows.ts'

const CREATED: Acceptance = { kind: 'created' }

export function prepareAcceptance(db: Database, fresh: FreshInstances) {
  const byId = db.prepare<[string], InstanceRow>('SELECT * FROM instances WHERE id = ?')
  const byRequest = db.prepare<[string, string, string], InstanceRow>(
    'SELECT * FROM instances WHERE tenant = ? AND owner = ? AND request_id = ?',
  )
  const byKey = db.prepare<[string, string, string, string], InstanceRow>(
    `SELECT * FROM instances WHERE tenant = ? AND owner = ? AND substr(operation, 1, instr(operation, '@') - 1) = ?
       AND idempotency_key = ?`,
  )
  const aliasByRequest = db.prepare<[string, string, string], AliasRow>(
    'SELECT * FROM aliases WHERE tenant = ? AND owner = ? AND request_id = ?',
  )
  const inserts = new Map<string, Statement>()
  const insertOf = (sql: string): Statement => {
    const insert = inserts.get(sql) ?? db.prepare(sql)
    inserts.set(sql, insert)
    return insert
  }
  // Its own id is what no caller's request id is; if one is all the same, the id is not vacated, and found taken.
  const yieldRequest = db.prepare<[string, string, string, string]>(
    `UPDATE OR IGNORE instances SET request_id = 'yielded:' || id, revision = revision + 1
     WHERE tenant = ? AND owner = ? AND request_id = ? AND id = ?`,
  )
  const yieldAlias = db.prepare<[string, string, string, string]>(
    'DELETE FROM aliases WHERE tenant = ? AND owner = ? AND request_id = ? AND instance_id = ?',
  )
  const insertAlias = db.prepare('INSERT INTO aliases VALUES (?, ?, ?, ?, ?, ?)')
  // Until the first repeat of a key there are none, and nobody need look for one. This process alone writes them.
  let anyAliases = db.prepare('SELECT EXISTS (SELECT 1 FROM aliases)').pluck().get() === 1
  const callers = new WeakMap<Caller, string>()

  const get = (id: string): Instance | undefined => {
    const row = byId.get(id)
    return row && decodeInstance(row)
  }

  /** Whoever has the request id, expired or not. */
  function holder(tenant: string, owner: string, requestId: string): Instance | undefined {
    const row = byRequest.get(tenant, owner, requestId)
    if (row) return decodeInstance(row)
    const alias = aliasByRequest.get(tenant, owner, requestId)
    const instance = alias && get(alias.instance_id)
    return instance && throughAlias(instance, alias)
  }

  function conflict({ id, tenant, owner, requestId, operation, idempotencyKey }: Instance): Acceptance {
    const sameRequest = holder(tenant, owner, requestId)
    if (sameRequest) return { kind: 'request-id-taken', instance: sameRequest }
    const sameKey = idempotencyKey !== undefined && byKey.get(tenant, owner, nameIn(operation), idempotencyKey)
    if (sameKey) return { kind: 'key-taken', instance: decodeInstance(sameKey) }
    throw new Fault('internal', `The instance id ${id} is in use. Ids must be unique; see how newId makes them.`)
  }

  /** One object for all calls of a remembered credential. */
  function textOf(caller: Caller): string {
    const known = callers.get(caller)
    if (known !== undefined) return known
    const text = JSON.stringify(caller)
    callers.set(caller, text)
    return text
  }

  function vacate({ tenant, owner, requestId }: Instance, over: string): void {
    fresh.drop(over)
    yieldRequest.run(tenant, owner, requestId, over)
    yieldAlias.run(tenant, owner, requestId, over)
  }

  return {
    get,

    find(tenant: string, owner: string, requestId: string, now: number): Instance | undefined {
      const instance = holder(tenant, owner, requestId)
      return instance && instance.expiresAt > now ? instance : undefined
    },

    accept(instance: Instance, over?: string): Action<Acceptance> {
      const { sql, values } = encodeInstance(instance, textOf(instance.caller))
      const insert = insertOf(sql)
      const { tenant, owner, requestId } = instance
      let textLength = 0
      for (const value of values) if (typeof value === 'string') textLength += value.length
      return (changed) => {
        if (over !== undefined) vacate(instance, over)
        const standsFor = anyAliases && aliasByRequest.get(tenant, owner, requestId)
        if (standsFor || insert.run(...values).changes === 0) return conflict(instance)
        fresh.add(instance, textLength)
        changed.push(instance)
        return CREATED
      }
    },

    alias(alias: Alias): Action<Acceptance> {
      const values = encodeAlias(alias)
      return () => {
        const taken = holder(alias.tenant, alias.owner, alias.requestId)
        if (taken) return { kind: 'request-id-taken', instance: taken }
        if (!byId.get(alias.instanceId)) {
          throw new Fault('unavailable', 'The call that this one repeats is no longer kept. Send it again.')
        }
        insertAlias.run(values)
        anyAliases = true
        return CREATED
      }
    },
  }
}
