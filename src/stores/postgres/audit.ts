/**
 * The audit trail. The entry of a recorded call is in the call's own row, which has most of its fields already. When the
 * call is removed, its entry moves to the audit table. Other entries are in that table from the start.
 */
import { hash } from 'node:crypto'
import { USUAL_ENDING } from '../../core/call/audit-ending.ts'
import type { MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { storedFingerprint } from '../../core/call/fingerprint.ts'
import type { JsonValue } from '../../core/json.ts'
import type { AuditEntry, AuditQuery, AuditTrail } from '../../core/ports/store.ts'
import { type Session, statement } from './connect/session.ts'
import { encodeArray } from './sql/arrays.ts'
import { decodeText, encodeText } from './sql/plain-text.ts'
import type { Tables } from './tables.ts'
import { alone } from './writes/alone.ts'
import type { Batches, Shape } from './writes/batches.ts'

const digest = (text: string): string => hash('sha256', text, 'hex')

/** The columns of a call from which its entry is made. */
export interface EntryRow {
  id: string
  tenant: string
  owner: string
  request_id: string
  operation: string
  created_at: number
  ended_at: number
  audit: string
  caller: string
  args: string
  fixed: string | null
}

export const ENTRY_COLUMNS =
  'id, tenant, owner, request_id, operation, created_at, coalesce(ended_at, 0) AS ended_at, audit, caller, args, fixed'

/** If the call gave up its request id, `audit` has the original one. */
function decodeKept(row: EntryRow): AuditEntry {
  const { media = [], fingerprint } = (row.fixed === null ? {} : JSON.parse(row.fixed)) as {
    media?: MediaInput[]
    fingerprint?: string
  }
  const operation = decodeText(row.operation)
  const asked = {
    operation,
    args: JSON.parse(row.args) as JsonValue,
    media,
    caller: JSON.parse(row.caller) as Caller,
    ...(fingerprint !== undefined && { fingerprint }),
  }
  return {
    ...USUAL_ENDING,
    id: decodeText(row.id),
    tenant: decodeText(row.tenant),
    owner: decodeText(row.owner),
    requestId: decodeText(row.request_id),
    operation,
    fingerprint: storedFingerprint(digest, asked),
    startedAt: row.created_at,
    endedAt: row.ended_at,
    ...JSON.parse(row.audit),
  }
}

interface AuditRow {
  id: string
  tenant: string
  owner: string
  operation: string
  ended_at: number
  /** The rest, as JSON. */
  entry: string
}

function decodeEntry({ id, tenant, owner, operation, ended_at, entry }: AuditRow): AuditEntry {
  const names = { id, tenant, owner, operation }
  const texts = Object.fromEntries(Object.entries(names).map(([name, text]) => [name, decodeText(text)]))
  return { ...JSON.parse(entry), ...texts, endedAt: ended_at }
}

export interface Audit {
  trail: AuditTrail
  /** Moves the entries of removed calls to the audit table, within the transaction that removes them. */
  archive(session: Session, rows: readonly EntryRow[]): Promise<void>
}

const MOST = 256
/** Above every id. */
const NEWEST = '\u{10ffff}'

export function createAudit(tables: Tables, writes: Batches, reads: Batches): Audit {
  const types = ['text', 'text', 'text', 'text', 'int8', 'text'] as const
  const arrays = types.map((type, at) => `$${at + 1}::${type}[]`)
  // A repeat after a lost answer writes the same entry.
  const insert = statement(`INSERT INTO ${tables.audit} (id, tenant, owner, operation, ended_at, entry)
    SELECT * FROM unnest(${arrays.join(', ')}) ON CONFLICT (tenant, id) DO NOTHING`)
  const matches = `tenant = $1 AND id < $2 AND ($3::text IS NULL OR operation = $3) AND ($4::text IS NULL OR owner = $4)`
  const listKept = statement(`SELECT ${ENTRY_COLUMNS} FROM ${tables.calls}
    WHERE ${matches} AND audit IS NOT NULL ORDER BY id DESC LIMIT $5`)
  const listMoved = statement(`SELECT id, tenant, owner, operation, ended_at, entry FROM ${tables.audit}
    WHERE ${matches} ORDER BY id DESC LIMIT $5`)
  const purge = statement(`DELETE FROM ${tables.audit} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${tables.audit} WHERE ended_at < $1 ORDER BY ended_at LIMIT $2))`)

  async function insertAll(session: Session, entries: readonly AuditEntry[]): Promise<void> {
    const rows = entries.map(({ id, tenant, owner, operation, endedAt, ...rest }) => [
      ...[id, tenant, owner, operation].map(encodeText),
      endedAt,
      JSON.stringify(rest),
    ])
    const columns = types.map((type, at) =>
      encodeArray(
        type,
        rows.map((row) => row[at] as string | number),
      ),
    )
    await session.query(insert, columns)
  }

  const append: Shape<AuditEntry, void> = {
    key: 'audit',
    most: MOST,
    async run(session, items) {
      await insertAll(
        session,
        items.map(({ value }) => value),
      )
      for (const item of items) item.done()
    },
  }

  async function list(session: Session, query: AuditQuery): Promise<readonly AuditEntry[]> {
    const { tenant, operation, owner, before = NEWEST, limit } = query
    const optional = [operation, owner].map((text) => (text === undefined ? null : encodeText(text)))
    const values = [encodeText(tenant), encodeText(before), ...optional, limit]
    // In this order: an entry that moves in between is then seen twice, and not missed.
    const kept = (await session.query<EntryRow>(listKept, values)).rows.map(decodeKept)
    const moved = (await session.query<AuditRow>(listMoved, values)).rows.map(decodeEntry)
    const byId = new Map([...kept, ...moved].map((entry) => [entry.id, entry]))
    return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
  }

  return {
    archive: (session, rows) => (rows.length === 0 ? Promise.resolve() : insertAll(session, rows.map(decodeKept))),
    trail: {
      append: (entry) => writes.add(append, entry, { lanes: [`audit ${entry.tenant} ${entry.id}`] }),
      list: (query) => alone(reads, 'audit list', (session) => list(session, query)),
      purge: (endedBefore, limit) =>
        alone(writes, 'audit purge', async (session) => (await session.query(purge, [endedBefore, limit])).count),
    },
  }
}
