/**
 * Accepts calls and finds them. A request id or an idempotency key stays taken as long as its row exists, so also
 * between the expiry, which hides the row from callers, and the purge, which removes it.
 */
import type { Database, Statement } from 'better-sqlite3'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import { nameIn } from '../../core/operation/names.ts'
import type { Acceptance, AcceptMore, Alias, Created, Taken } from '../../core/ports/store.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import type { OpenCalls } from './open-calls.ts'
import type { Owners } from './owners.ts'
import type { RecordWrites } from './records.ts'
import type { RequestIndex, RequestRow } from './requests/request-index.ts'
import {
  type AliasRow,
  type Decode,
  encodeAlias,
  encodeInstance,
  type InstanceRow,
  textLength,
  throughAlias,
} from './rows.ts'

const CREATED: Created = { kind: 'created' }
const RECORDS_DIFFER: Acceptance = { kind: 'records-differ' }

export interface AcceptanceParts {
  fresh: FreshInstances
  openCalls: OpenCalls
  owners: Owners
  requests: RequestIndex
  records: RecordWrites
  decode: Decode
}

export function prepareAcceptance(
  db: Database,
  { fresh, openCalls, owners, requests, records, decode }: AcceptanceParts,
) {
  const byId = db.prepare<[string], InstanceRow>('SELECT * FROM instances WHERE id = ?')
  const byKey = db.prepare<[number, string, string], InstanceRow>(
    `SELECT * FROM instances WHERE owner = ? AND substr(operation, 1, instr(operation, '@') - 1) = ?
       AND idempotency_key = ?`,
  )
  const aliasByRequest = db.prepare<[number, string], AliasRow>(
    'SELECT * FROM aliases WHERE owner = ? AND request_id = ?',
  )
  const inserts = new Map<string, Statement>()
  const insertOf = (sql: string): Statement => {
    const known = inserts.get(sql)
    if (known) return known
    const insert = db.prepare(sql)
    inserts.set(sql, insert)
    return insert
  }
  // The new request id contains the instance id, so no caller can have chosen it.
  const yieldRequest = db.prepare<[number, string, string], RequestRow>(
    `UPDATE instances SET request_id = 'yielded:' || id, revision = revision + 1,
       audit = json_set(audit, '$.requestId', request_id)
     WHERE owner = ? AND request_id = ? AND id = ? RETURNING ref, owner, request_id`,
  )
  const yieldAlias = db.prepare<[number, string, string]>(
    'DELETE FROM aliases WHERE owner = ? AND request_id = ? AND instance_id = ?',
  )
  const insertAlias = db.prepare('INSERT INTO aliases VALUES (?, ?, ?, ?, ?)')
  // There are no aliases until the first repeat of a key, so the lookup is skipped. Only this process writes aliases.
  let anyAliases = db.prepare('SELECT EXISTS (SELECT 1 FROM aliases)').pluck().get() === 1

  const get = (id: string): Instance | undefined => {
    const row = byId.get(id)
    return row && decode(row)
  }

  /** The instance that has the request id, expired or not. */
  function holder(owner: number, requestId: string, hash = requests.hashOf(owner, requestId)): Instance | undefined {
    const row = requests.find(hash, owner, requestId)
    if (row) return decode(row)
    const alias = anyAliases ? aliasByRequest.get(owner, requestId) : undefined
    const instance = alias && get(alias.instance_id)
    return instance && throughAlias(instance, alias)
  }

  function keyHolder(owner: number, { operation, idempotencyKey }: Instance): Instance | undefined {
    const row = idempotencyKey === undefined ? undefined : byKey.get(owner, nameIn(operation), idempotencyKey)
    return row && decode(row)
  }

  function conflict(owner: number, instance: Instance): Taken {
    const sameKey = keyHolder(owner, instance)
    if (sameKey) return { kind: 'key-taken', instance: sameKey }
    throw new Fault('internal', `The instance id ${instance.id} is in use. Check that newId returns unique ids.`)
  }

  function vacate(owner: number, requestId: string, over: string): void {
    fresh.drop(over)
    const row = yieldRequest.get(owner, requestId, over)
    if (row) requests.rename(row, requestId)
    yieldAlias.run(owner, requestId, over)
  }

  return {
    get,

    find(tenant: string, owner: string, requestId: string, now: number): Instance | undefined {
      const known = owners.find(tenant, owner)
      const instance = known && holder(known.ref, requestId)
      return instance && instance.expiresAt > now ? instance : undefined
    },

    accept(instance: Instance, more?: AcceptMore): Action<Acceptance> {
      const together = more?.records
      const over = more?.over
      return (changed) => {
        const owner = owners.findOrAdd(instance)
        const { requestId } = instance
        const differ = together !== undefined && !records.hold(together)
        if (differ && over !== undefined) return RECORDS_DIFFER
        const hash = requests.hashOf(owner.ref, requestId)
        const taken = holder(owner.ref, requestId, hash)
        if (taken && taken.id !== over) return { kind: 'request-id-taken', instance: taken }
        if (over !== undefined) {
          // The old call gives up its request id only if the new one is accepted.
          const sameKey = keyHolder(owner.ref, instance)
          if (sameKey) return { kind: 'key-taken', instance: sameKey }
          vacate(owner.ref, requestId, over)
        }
        if (differ) return RECORDS_DIFFER
        const ref = requests.nextRef()
        const { sql, values } = encodeInstance(instance, ref, owner.ref, owners.ownText(instance.caller, owner))
        if (insertOf(sql).run(...values).changes === 0) return conflict(owner.ref, instance)
        if (together) records.apply(together)
        requests.add(hash, ref)
        fresh.add(instance, textLength(values))
        openCalls.accepted(instance)
        changed.push(instance)
        return CREATED
      }
    },

    alias(alias: Alias): Action<Created | Taken> {
      return () => {
        const owner = owners.find(alias.tenant, alias.owner)
        const taken = owner && holder(owner.ref, alias.requestId)
        if (taken) return { kind: 'request-id-taken', instance: taken }
        if (!owner || !byId.get(alias.instanceId)) {
          throw new Fault('unavailable', 'The call that this one repeats was just removed. Send the call again.')
        }
        insertAlias.run(encodeAlias(alias, owner.ref))
        anyAliases = true
        return CREATED
      }
    },
  }
}
