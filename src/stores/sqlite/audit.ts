/**
 * The trail of who did what. The entry of a recorded call lies in the call's own row, which has most of it already, and
 * moves into a table of its own when the call goes; other entries are in that table from the start.
 */
import type { Database } from 'better-sqlite3'
import type { AuditEnding, AuditEntry, AuditQuery } from '../../core/ports.ts'
import type { Action } from './group-commit.ts'
import type { Owners } from './owners.ts'
import type { InstanceRow } from './rows.ts'

/** Of nearly every entry; what differs is written. */
const USUAL = { verdict: 'allow', attempts: 1, outcome: 'complete' } as const

/** So many calls are sorted in 10 ms; where there are more, the newest of them are soon found among all. */
const FEW = 10_000

const NEWEST = '\u{10ffff}'

export function prepareAudit(db: Database, owners: Owners) {
  const insert = db.prepare<[string, string, string, string, number, string]>(
    'INSERT INTO audit (id, tenant, owner, operation, ended_at, entry) VALUES (?, ?, ?, ?, ?, ?)',
  )
  // A request id that the call has given up stands in its own part.
  const archive = db.prepare<[string]>(
    `INSERT INTO audit (id, tenant, owner, operation, ended_at, entry)
     SELECT id, tenant, owners.owner, operation, ended_at, json_patch(json_object('verdict', '${USUAL.verdict}',
       'attempts', ${USUAL.attempts}, 'outcome', '${USUAL.outcome}', 'requestId', request_id, 'fingerprint', fingerprint,
       'startedAt', created_at), audit)
     FROM instances JOIN owners ON ref = instances.owner WHERE id = ? AND audit IS NOT NULL
     ON CONFLICT (tenant, id) DO NOTHING`,
  )
  const list = db.prepare<[string, string, string | null, string | null, number], AuditRow>(
    `SELECT * FROM audit WHERE tenant = ? AND id < ? AND operation = coalesce(?, operation)
       AND owner = coalesce(?, owner) ORDER BY id DESC LIMIT ?`,
  )
  const ofOwners = 'owner IN (SELECT ref FROM owners WHERE tenant = ? AND owner = coalesce(?, owner))'
  const haveFew = db
    .prepare<[string, string | null], number>(
      `SELECT count(*) <= ${FEW} FROM (SELECT 1 FROM instances WHERE ${ofOwners} LIMIT ${FEW + 1})`,
    )
    .pluck()
  const listKept = (index: string) =>
    db.prepare<[string, string | null, string, string | null, number], KeptRow>(
      `SELECT id, owner, request_id, operation, fingerprint, created_at, ended_at, audit
       FROM instances INDEXED BY ${index} WHERE ${ofOwners}
         AND id < ? AND audit IS NOT NULL AND operation = coalesce(?, operation) ORDER BY id DESC LIMIT ?`,
    )
  const listOfFew = listKept('instances_by_request')
  const listOfMany = listKept('instances_by_id')
  const purge = db.prepare<[number, number]>(
    'DELETE FROM audit WHERE rowid IN (SELECT rowid FROM audit WHERE ended_at < ? ORDER BY ended_at LIMIT ?)',
  )

  function decodeKept(row: KeptRow): AuditEntry {
    const { tenant, owner } = owners.byRef(row.owner)
    return {
      ...USUAL,
      id: row.id,
      tenant,
      owner,
      requestId: row.request_id,
      operation: row.operation,
      fingerprint: row.fingerprint,
      startedAt: row.created_at,
      endedAt: row.ended_at,
      ...JSON.parse(row.audit),
    }
  }

  return {
    /** For a call that is about to be removed. */
    archive: (id: string): void => void archive.run(id),

    append({ id, tenant, owner, operation, endedAt, ...rest }: AuditEntry): Action<void> {
      const entry = JSON.stringify(rest)
      return () => void insert.run(id, tenant, owner, operation, endedAt, entry)
    },

    list({ tenant, operation, owner, before = NEWEST, limit }: AuditQuery): readonly AuditEntry[] {
      const fromKept = haveFew.get(tenant, owner ?? null) === 1 ? listOfFew : listOfMany
      const kept = fromKept.all(tenant, owner ?? null, before, operation ?? null, limit).map(decodeKept)
      const apart = list.all(tenant, before, operation ?? null, owner ?? null, limit).map(decodeEntry)
      return [...kept, ...apart].sort(newestFirst).slice(0, limit)
    },

    purge(endedBefore: number, limit: number): Action<number> {
      return () => purge.run(endedBefore, limit).changes
    },
  }
}

/** What the row of its call does not say. */
export function encodeEnding(ending: AuditEnding): string {
  const { verdict, rule, approvalId, backend, attempts, outcome, code } = ending
  const own: Partial<AuditEnding> = { backend }
  if (verdict !== USUAL.verdict) own.verdict = verdict
  if (attempts !== USUAL.attempts) own.attempts = attempts
  if (outcome !== USUAL.outcome) own.outcome = outcome
  if (rule !== undefined) own.rule = rule
  if (approvalId !== undefined) own.approvalId = approvalId
  if (code !== undefined) own.code = code
  return JSON.stringify(own)
}

interface KeptRow
  extends Pick<InstanceRow, 'id' | 'owner' | 'request_id' | 'operation' | 'fingerprint' | 'created_at'> {
  ended_at: number
  audit: string
}

interface AuditRow extends Pick<AuditEntry, 'id' | 'tenant' | 'owner' | 'operation'> {
  ended_at: number
  /** The rest, as JSON. */
  entry: string
}

function decodeEntry({ id, tenant, owner, operation, ended_at, entry }: AuditRow): AuditEntry {
  return { ...JSON.parse(entry), id, tenant, owner, operation, endedAt: ended_at }
}

function newestFirst(a: AuditEntry, b: AuditEntry): number {
  return a.id < b.id ? 1 : -1
}
