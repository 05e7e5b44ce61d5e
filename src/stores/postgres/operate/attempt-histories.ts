/** Writes and reads the attempts of calls, for a move: a call is accepted without those that it had elsewhere. */
import type { CallAttempts } from '../../../core/ports/store-dump.ts'
import { type Session, statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { quoteName } from '../sql/migrate.ts'
import { withSession } from './operator-session.ts'

/** A move may fill several generations. */
const TABLES = statement(`SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname ~ '^calls_(kept|[0-9]+)$' ORDER BY 1`)

export function writeAttempts(url: string, schema: string, all: readonly CallAttempts[]): Promise<void> {
  const ids = encodeArray(
    'uuid',
    all.map(({ id }) => id),
  )
  const past = encodeArray(
    'text',
    all.map(({ past: attempts }) => attempts.map((attempt) => JSON.stringify(attempt)).join(',') || null),
  )
  const begun = encodeArray(
    'int8',
    all.map(({ begunAt }) => begunAt ?? null),
  )
  return withSession(url, async (session) => {
    for (const table of await callTables(session, schema)) {
      const update = statement(`UPDATE ${table} c SET past = u.past, begun_at = u.begun_at
        FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS u (id, past, begun_at) WHERE c.id = u.id`)
      await session.query(update, [ids, past, begun])
    }
  })
}

/** In the order of the ids. `undefined` for a call without earlier attempts, and for one that is not there. */
export function readAttempts(
  url: string,
  schema: string,
  ids: readonly string[],
): Promise<readonly (CallAttempts | undefined)[]> {
  type Row = { id: string; past: string | null; begun_at: number | null }
  return withSession(url, async (session) => {
    const found = new Map<string, CallAttempts>()
    for (const table of await callTables(session, schema)) {
      const select = statement(`SELECT id, past, begun_at FROM ${table}
        WHERE id = ANY ($1::uuid[]) AND (past IS NOT NULL OR begun_at IS NOT NULL)`)
      const { rows } = await session.query<Row>(select, [encodeArray('uuid', ids)])
      for (const { id, past, begun_at: at } of rows)
        found.set(id, { id, past: JSON.parse(`[${past ?? ''}]`), ...(at !== null && { begunAt: at }) })
    }
    return ids.map((id) => found.get(id))
  })
}

async function callTables(session: Session, schema: string): Promise<string[]> {
  const { rows } = await session.query<{ name: string }>(TABLES, [schema])
  return rows.map(({ name }) => `${quoteName(schema)}.${quoteName(name)}`)
}
