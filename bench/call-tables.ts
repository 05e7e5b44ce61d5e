/** The tables of the Postgres store that have calls, found by their columns: their number and names change. */
import type pg from 'pg'

const SCHEMA = 'callplane'

export async function tablesOfCalls(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables
      USING (table_schema, table_name)
     WHERE table_schema = $1 AND column_name IN ('id', 'request_id', 'request_key') AND table_type = 'BASE TABLE'
     GROUP BY 1 HAVING count(*) = 3`,
    [SCHEMA],
  )
  return rows.map(({ name }) => `${SCHEMA}.${quoteName(name)}`)
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
