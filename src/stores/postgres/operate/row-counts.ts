/** How many rows a schema has, for a move: it must be empty before, and have as many rows as the source after. */
import { type Session, statement } from '../connect/session.ts'
import { quoteName } from '../sql/migrate.ts'
import { withSession } from './operator-session.ts'

/** Calls and aliases together, in all their tables. */
export interface RowCounts {
  calls: number
  records: number
  audit: number
}

const TABLES = statement(`SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname ~ '^(calls|records|audit)(_[a-z0-9]+)?$' ORDER BY 1`)

/** All zero if there is no such schema. */
export function countRows(url: string, schema: string): Promise<RowCounts> {
  return withSession(url, async (session) => {
    const counts: RowCounts = { calls: 0, records: 0, audit: 0 }
    for (const { name } of (await session.query<{ name: string }>(TABLES, [schema])).rows)
      counts[name.replace(/_.*$/, '') as keyof RowCounts] += await countIn(session, schema, name)
    return counts
  })
}

async function countIn(session: Session, schema: string, table: string): Promise<number> {
  const count = statement(`SELECT count(*) AS rows FROM ${quoteName(schema)}.${quoteName(table)}`)
  return (await session.query<{ rows: number }>(count)).rows[0]?.rows ?? 0
}
