/**
 * The audit trail. The entry of a recorded call is in the call's own row, which has most of its fields already. When the
 * call is removed, its entry moves to the audit table. Other entries are in that table from the start.
 *
 * The calls of a tenant are found by its callers: an index has the calls of each caller in order. It takes 70 bytes of
 * log for each call. Without it, the page of a small tenant would read all calls.
 */
import { membersOf, memberText } from '../../core/call/audit-ending.ts'
import { KEY_END, keyStart } from '../../core/ports/call-list.ts'
import type { AuditEntry, AuditMatch, AuditQuery, AuditTrail } from '../../core/ports/store.ts'
import { decodeKept, ENTRY_COLUMNS, type EntryRow, encodeRest } from './audit-entries.ts'
import { type Session, type Statement, statement } from './connect/session.ts'
import { type Generations, perGeneration } from './generations/generations.ts'
import { encodeArray } from './sql/arrays.ts'
import { firstIdFrom, LAST_ID } from './sql/ids.ts'
import { decodeText, encodeText } from './sql/plain-text.ts'
import type { Tables } from './tables.ts'
import { alone } from './writes/alone.ts'
import type { Batches, Shape } from './writes/batches.ts'

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

const isLike = (column: string) => `($3::text IS NULL OR starts_with(${column} || '${KEY_END}', $3))`

const MEMBERS = [9, 11, 13, 15] as const

/** True if the JSON in this column has the members in the values from `$9`, as far as they are given. */
function hasMembers(column: string): string {
  return MEMBERS.map(
    (at) => `($${at}::text IS NULL OR strpos(${column}, $${at}) > 0
      OR ($${at + 1}::text IS NOT NULL AND strpos(${column}, $${at + 1}) = 0))`,
  ).join(' AND ')
}

/** The values from `$7`: the request id, the same as a member, and the members. */
function matchValues(matching: AuditMatch): (string | null)[] {
  const { requestId } = matching
  const request = requestId === undefined ? [null, null] : [encodeText(requestId), memberText('requestId', requestId)]
  const members = membersOf(matching)
  return [...request, ...MEMBERS.flatMap((_, at) => [members[at]?.has ?? null, members[at]?.orLacks ?? null])]
}

export interface Audit {
  trail: AuditTrail
  /** Writes the entries of calls that are being removed to the audit table. The same entry can be written again. */
  archive(session: Session, rows: readonly EntryRow[]): Promise<void>
}

const MOST = 256
/** Above every id. */
const NEWEST = '\u{10ffff}'
/** The newest calls of each of so many callers are read. For a tenant with more, the calls of all tenants are. */
const MANY_CALLERS = 200

export function createAudit(tables: Tables, generations: Generations, writes: Batches, reads: Batches): Audit {
  const types = ['text', 'text', 'text', 'text', 'int8', 'text'] as const
  const arrays = types.map((type, at) => `$${at + 1}::${type}[]`)
  // A repeat after a lost answer writes the same entry.
  const insert = statement(`INSERT INTO ${tables.audit} (id, tenant, owner, operation, ended_at, entry)
    SELECT * FROM unnest(${arrays.join(', ')}) ON CONFLICT (tenant, id) DO NOTHING`)
  const matches = `tenant = $1 AND id < $2 AND id >= $6 AND ${isLike('operation')}
    AND ($4::text IS NULL OR owner = $4) AND ${hasMembers('entry')} AND ($7::text IS NULL OR strpos(entry, $8) > 0)`
  const ofTenant = 'k.tenant = $1 AND ($4::text IS NULL OR k.owner = $4)'
  const ofCall = `c.id < $2 AND c.id >= $6 AND c.audit IS NOT NULL AND ${isLike('c.operation')}
    AND ${hasMembers('c.audit')} AND ($7::text IS NULL OR c.request_id = $7 OR strpos(c.audit, $8) > 0)`
  const countCallers = perGeneration((generation) =>
    statement(`SELECT count(*)::int AS callers FROM (SELECT FROM ${tables.callers(generation)} k
      WHERE k.tenant = $1 AND ($2::text IS NULL OR k.owner = $2) LIMIT ${MANY_CALLERS + 1}) AS seen`),
  )
  const byCaller = perGeneration((generation) =>
    statement(`SELECT ${ENTRY_COLUMNS} FROM ${tables.callers(generation)} k CROSS JOIN LATERAL (
        SELECT * FROM ${tables.calls(generation)} c WHERE c.caller = k.hash AND ${ofCall}
        ORDER BY c.id DESC LIMIT $5) AS c
      WHERE ${ofTenant} ORDER BY c.id DESC LIMIT $5`),
  )
  const byId = perGeneration((generation) =>
    statement(`SELECT ${ENTRY_COLUMNS} FROM ${tables.calls(generation)} c JOIN ${tables.callers(generation)} k
        ON k.hash = c.caller
      WHERE ${ofCall} AND ${ofTenant} ORDER BY c.id DESC LIMIT $5`),
  )
  const nthKept = perGeneration((generation) =>
    statement(`SELECT c.id FROM ${tables.calls(generation)} c JOIN ${tables.callers(generation)} k ON k.hash = c.caller
      WHERE c.id < $2 AND c.audit IS NOT NULL AND k.tenant = $1 ORDER BY c.id DESC LIMIT 1 OFFSET $3`),
  )
  const nthMoved = statement(
    `SELECT id FROM ${tables.audit} WHERE tenant = $1 AND id < $2 ORDER BY id DESC LIMIT 1 OFFSET $3`,
  )
  const listMoved = statement(`SELECT id, tenant, owner, operation, ended_at, entry FROM ${tables.audit}
    WHERE ${matches} ORDER BY id DESC LIMIT $5`)
  const purge = statement(`DELETE FROM ${tables.audit} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${tables.audit} WHERE ended_at < $1 ORDER BY ended_at LIMIT $2))`)

  async function insertAll(session: Session, entries: readonly AuditEntry[]): Promise<void> {
    const rows = entries.map((entry) => {
      const { id, tenant, owner, operation, endedAt } = entry
      return [...[id, tenant, owner, operation].map(encodeText), endedAt, encodeRest(entry)]
    })
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
    const { tenant, operation, owner, before = NEWEST, from = '', matching = {}, limit } = query
    const optional = [operation === undefined ? undefined : keyStart(operation), owner].map((text) =>
      text === undefined ? null : encodeText(text),
    )
    const matched = matchValues(matching)
    const values = [encodeText(tenant), encodeText(before), ...optional, limit, encodeText(from), ...matched]
    // In this order: an entry that moves in between is then seen twice, and not missed.
    const kept: AuditEntry[] = []
    const first = before === NEWEST ? LAST_ID : firstIdFrom(before)
    await generations.refresh(session)
    for (const generation of generations.live) {
      const who = [encodeText(tenant), optional[1]]
      const { rows } = await session.query<{ callers: number }>(countCallers(generation), who)
      const callers = rows[0]?.callers ?? 0
      if (callers === 0) continue
      const by: Statement = callers > MANY_CALLERS ? byId(generation) : byCaller(generation)
      const bounds = [encodeText(tenant), first, ...optional, limit, firstIdFrom(from)]
      const found = await session.query<EntryRow>(by, [...bounds, ...matched])
      kept.push(...found.rows.map(decodeKept))
    }
    const moved = (await session.query<AuditRow>(listMoved, values)).rows.map(decodeEntry)
    const byIds = new Map([...kept, ...moved].map((entry) => [entry.id, entry]))
    return [...byIds.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
  }

  async function horizon(session: Session, query: Pick<AuditQuery, 'tenant' | 'before'>, entries: number) {
    const { tenant, before = NEWEST } = query
    const first = before === NEWEST ? LAST_ID : firstIdFrom(before)
    await generations.refresh(session)
    const ids: string[] = []
    const look = async (by: Statement, from: string) => {
      const { rows } = await session.query<{ id: string }>(by, [encodeText(tenant), from, entries - 1])
      ids.push(...rows.map(({ id }) => decodeText(id)))
    }
    for (const generation of generations.live) await look(nthKept(generation), first)
    await look(nthMoved, encodeText(before))
    return ids.sort().at(-1)
  }

  return {
    archive: (session, rows) => (rows.length === 0 ? Promise.resolve() : insertAll(session, rows.map(decodeKept))),
    trail: {
      append: (entry) => writes.add(append, entry, { lanes: [`audit ${entry.tenant} ${entry.id}`] }),
      list: (query) => alone(reads, 'audit list', (session) => list(session, query)),
      horizon: (query, entries) => alone(reads, 'audit horizon', (session) => horizon(session, query, entries)),
      purge: (endedBefore, limit) =>
        alone(writes, 'audit purge', async (session) => (await session.query(purge, [endedBefore, limit])).count),
    },
  }
}
