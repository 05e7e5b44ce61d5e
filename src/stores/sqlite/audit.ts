/**
 * The audit trail. The entry of a recorded call is stored in the call's own row, which has most of its fields already.
 * When the call is removed, its entry moves to the audit table. Other entries are in that table from the start.
 */
import type { Database } from 'better-sqlite3'
import { membersOf, memberText, USUAL_ENDING } from '../../core/call/audit-ending.ts'
import type { MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { storedFingerprint } from '../../core/call/fingerprint.ts'
import type { JsonValue } from '../../core/json.ts'
import { KEY_END, keyStart } from '../../core/ports/call-list.ts'
import type { AuditEntry, AuditQuery } from '../../core/ports/store.ts'
import type { Action } from './group-commit.ts'
import type { Owners } from './owners.ts'
import { digest } from './requests/digest.ts'
import type { InstanceRow } from './rows.ts'

/**
 * The columns of an entry and of its call's index. Arguments may be large, so they are read only if they are needed.
 */
export const ENTRY_COLUMNS = `ref, id, owner, request_id, operation, fingerprint, created_at, ended_at, audit, caller, media,
  CASE fingerprint WHEN '' THEN args END AS args`

/** Sorting 10,000 calls takes 10 ms. An owner with more calls has its newest ones early in the index of all calls. */
const FEW = 10_000

const NEWEST = '\u{10ffff}'

export function prepareAudit(db: Database, owners: Owners) {
  const insert = db.prepare<[string, string, string, string, number, string]>(
    'INSERT INTO audit (id, tenant, owner, operation, ended_at, entry) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const insertOnce = db.prepare<[string, string, string, string, number, string]>(
    `INSERT INTO audit (id, tenant, owner, operation, ended_at, entry) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO NOTHING`,
  )
  const list = db.prepare<[Bound], AuditRow>(
    `SELECT * FROM audit WHERE tenant = @tenant AND id < @before AND id >= @from
       AND ${isLike} AND owner = coalesce(@owner, owner) AND ${hasMembers('entry')}
       AND (@request IS NULL OR instr(entry, @request) > 0) ORDER BY id DESC LIMIT @limit`,
  )
  const ofOwners = 'owner IN (SELECT ref FROM owners WHERE tenant = @tenant AND owner = coalesce(@owner, owner))'
  const haveFew = db
    .prepare<[Pick<Bound, 'tenant' | 'owner'>], number>(
      `SELECT count(*) <= ${FEW} FROM (SELECT 1 FROM instances WHERE ${ofOwners} LIMIT ${FEW + 1})`,
    )
    .pluck()
  const listKept = (index: string) =>
    db.prepare<[Bound], EndedRow>(
      `SELECT ${ENTRY_COLUMNS} FROM instances WHERE ref IN (
         SELECT ref FROM instances INDEXED BY ${index} WHERE ${ofOwners}
           AND id < @before AND id >= @from AND audit IS NOT NULL AND ${isLike} AND ${hasMembers('audit')} AND (@requestId IS NULL OR request_id = @requestId OR instr(audit, @request) > 0)
         ORDER BY id DESC LIMIT @limit)`,
    )
  const listOfFew = listKept('instances_by_owner')
  const listOfMany = listKept('instances_by_id')
  type Nth = Pick<Bound, 'tenant' | 'owner' | 'before'> & { skipped: number }
  const nthKept = (index: string) =>
    db
      .prepare<[Nth], string>(
        `SELECT id FROM instances INDEXED BY ${index} WHERE ${ofOwners} AND id < @before AND audit IS NOT NULL
         ORDER BY id DESC LIMIT 1 OFFSET @skipped`,
      )
      .pluck()
  const nthOfFew = nthKept('instances_by_owner')
  const nthOfMany = nthKept('instances_by_id')
  const nthApart = db
    .prepare<[Omit<Nth, 'owner'>], string>(
      'SELECT id FROM audit WHERE tenant = @tenant AND id < @before ORDER BY id DESC LIMIT 1 OFFSET @skipped',
    )
    .pluck()
  const purge = db.prepare<[number, number]>(
    'DELETE FROM audit WHERE rowid IN (SELECT rowid FROM audit WHERE ended_at < ? ORDER BY ended_at LIMIT ?)',
  )

  /** If the call gave up its request id, `audit` has the original one. */
  function decodeKept(row: EndedRow): AuditEntry {
    const { tenant, owner, caller } = owners.byRef(row.owner)
    return {
      ...USUAL_ENDING,
      id: row.id,
      tenant,
      owner,
      requestId: row.request_id,
      operation: row.operation,
      fingerprint: row.args === null ? row.fingerprint : fingerprintFrom(row, row.args, caller),
      startedAt: row.created_at,
      endedAt: row.ended_at,
      ...JSON.parse(row.audit),
    }
  }

  return {
    /** Moves the entry of a removed call to the audit table. */
    archive(row: EntryRow): void {
      if (isEnded(row)) insertOnce.run(...encodeEntry(decodeKept(row)))
    },

    append(entry: AuditEntry): Action<void> {
      const values = encodeEntry(entry)
      return () => void insert.run(...values)
    },

    list(query: AuditQuery): readonly AuditEntry[] {
      const bound = boundOf(query)
      const { tenant, owner, limit } = bound
      const fromKept = haveFew.get({ tenant, owner }) === 1 ? listOfFew : listOfMany
      const kept = fromKept.all(bound).map(decodeKept)
      const apart = list.all(bound).map(decodeEntry)
      return [...kept, ...apart].sort(newestFirst).slice(0, limit)
    },

    horizon({ tenant, before = NEWEST }: Pick<AuditQuery, 'tenant' | 'before'>, entries: number): string | undefined {
      const owner = null
      const skipped = entries - 1
      const nth = haveFew.get({ tenant, owner }) === 1 ? nthOfFew : nthOfMany
      const ids = [nth.get({ tenant, owner, before, skipped }), nthApart.get({ tenant, before, skipped })]
      return ids.reduce((high, id) => (high === undefined || (id !== undefined && id > high) ? id : high))
    },

    purge(endedBefore: number, limit: number): Action<number> {
      return () => purge.run(endedBefore, limit).changes
    },
  }
}

/** The values of a query, by the names in the statements. */
interface Bound {
  tenant: string
  operation: string | null
  owner: string | null
  before: string
  from: string
  requestId: string | null
  request: string | null
  limit: number
  /** Those of `hasMembers`. */
  [member: `has${number}` | `lacks${number}`]: string | null
}

const MEMBERS = [0, 1, 2, 3] as const

const isLike = `(@operation IS NULL OR substr(operation || '${KEY_END}', 1, length(@operation)) = @operation)`

/** True if the JSON in this column has the members `has0` to `has3`, as far as they are given. */
function hasMembers(column: string): string {
  return MEMBERS.map(
    (at) => `(@has${at} IS NULL OR instr(${column}, @has${at}) > 0 OR (@lacks${at} IS NOT NULL
       AND instr(${column}, @lacks${at}) = 0))`,
  ).join(' AND ')
}

function boundOf({ matching = {}, before = NEWEST, from = '', operation, owner, tenant, limit }: AuditQuery): Bound {
  const { requestId } = matching
  const bound: Bound = {
    tenant,
    operation: operation === undefined ? null : keyStart(operation),
    owner: owner ?? null,
    before,
    from,
    requestId: requestId ?? null,
    request: requestId === undefined ? null : memberText('requestId', requestId),
    limit,
  }
  const members = membersOf(matching)
  for (const at of MEMBERS) {
    bound[`has${at}`] = members[at]?.has ?? null
    bound[`lacks${at}`] = members[at]?.orLacks ?? null
  }
  return bound
}

/** A row with `ENTRY_COLUMNS`. */
export interface EntryRow
  extends Pick<
    InstanceRow,
    | 'ref'
    | 'id'
    | 'owner'
    | 'request_id'
    | 'operation'
    | 'fingerprint'
    | 'created_at'
    | 'ended_at'
    | 'audit'
    | 'caller'
    | 'media'
  > {
  args: string | null
}

/** A row of a call that has an entry. */
interface EndedRow extends EntryRow {
  ended_at: number
  audit: string
}

function isEnded(row: EntryRow): row is EndedRow {
  return row.audit !== null
}

function fingerprintFrom({ operation, media, caller }: EntryRow, args: string, ownersCaller: Caller): string {
  return storedFingerprint(digest, {
    operation,
    args: JSON.parse(args) as JsonValue,
    media: JSON.parse(media) as MediaInput[],
    caller: caller === null ? ownersCaller : (JSON.parse(caller) as Caller),
  })
}

interface AuditRow extends Pick<AuditEntry, 'id' | 'tenant' | 'owner' | 'operation'> {
  ended_at: number
  /** The rest, as JSON. */
  entry: string
}

function encodeEntry({ id, tenant, owner, operation, endedAt, ...rest }: AuditEntry) {
  return [id, tenant, owner, operation, endedAt, JSON.stringify(rest)] as const
}

function decodeEntry({ id, tenant, owner, operation, ended_at, entry }: AuditRow): AuditEntry {
  return { ...JSON.parse(entry), id, tenant, owner, operation, endedAt: ended_at }
}

function newestFirst(a: AuditEntry, b: AuditEntry): number {
  return a.id < b.id ? 1 : -1
}
