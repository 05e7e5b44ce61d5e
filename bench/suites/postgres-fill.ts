/**
 * Multiplies the rows of a few real calls, so that a database has millions of them within a minute. It knows of the
 * store's tables only that a call has a row with an id, a request id and a hash of the latter; all other columns are
 * copied from real calls.
 */
import pg from 'pg'
import { quoteName, tablesOfCalls } from '../call-tables.ts'

export interface Fill {
  url: string
  calls: number
  /** When the store may remove them, in ms from now. May be in the past. */
  keptForMs: number
}

/** Rows that one statement inserts. */
const SLICE = 500_000
/** Ids of filled calls begin with their time, and are older than all real ones. */
const OLDER_MS = 86_400_000

/** Returns an id that is greater than those of all filled calls and less than those of all others. */
export async function multiplyCalls({ url, calls, keptForMs }: Fill): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
    const table = await tableWithCalls(client)
    const columns = await columnsOf(client, table)
    const indexes = await dropIndexes(client, table)
    const firstMs = Date.now() - OLDER_MS
    await client.query(`CREATE TEMPORARY TABLE samples AS SELECT * FROM ${table}`)
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::integer AS count FROM samples')
    const samples = rows[0]?.count ?? 0
    for (let from = 0; from < calls; from += SLICE) {
      const until = Math.min(calls, from + SLICE)
      const select = columns.map((column) => copiedValue(column, firstMs, keptForMs))
      await client.query(`INSERT INTO ${table} (${columns.map(({ name }) => quoteName(name)).join(', ')})
        SELECT ${select.join(', ')} FROM generate_series(${from}, ${until - 1}) AS n
        JOIN (SELECT *, row_number() OVER () - 1 AS sample FROM samples) AS s ON s.sample = n % ${samples}`)
    }
    for (const definition of indexes) await client.query(definition)
    await client.query(`ANALYZE ${table}`)
    await client.query('CHECKPOINT')
    return idAt(firstMs + calls)
  } finally {
    await client.end()
  }
}

/** True if the database still has filled calls. `below` is what `multiplyCalls` returned. */
export async function hasFilled(url: string, below: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const table of await tablesOfCalls(client)) {
      const { rows } = await client.query(`SELECT FROM ${table} WHERE id < '${below}' LIMIT 1`)
      if (rows.length > 0) return true
    }
    return false
  } finally {
    await client.end()
  }
}

async function tableWithCalls(client: pg.Client): Promise<string> {
  for (const table of await tablesOfCalls(client))
    if ((await client.query(`SELECT FROM ${table} LIMIT 1`)).rows.length > 0) return table
  throw new Error('Make some calls before the database is filled: their rows are the samples.')
}

interface Column {
  name: string
  type: string
}

async function columnsOf(client: pg.Client, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  )
  return rows
}

/** Building each index once at the end is faster. Returns their definitions. */
async function dropIndexes(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = $1::regclass
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)`,
    [table],
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  return rows.map(({ definition }) => definition)
}

/** The value of a column in a copy. `n` counts the copies. */
function copiedValue({ name, type }: Column, firstMs: number, keptForMs: number): string {
  const own = `s.${quoteName(name)}`
  switch (name) {
    case 'id': {
      const time = `lpad(to_hex(${firstMs}::bigint + n), 12, '0')`
      // The bits after the time are the slot of the caller, so they stay.
      const parts = [`left(${time}, 8)`, `right(${time}, 4)`, `substr(${own}::text, 15, 4)`]
      const random = `substr(md5(n::text), 1, 12)`
      return `(${[...parts, `'8000'`, random].join(` || '-' || `)})::${type}`
    }
    case 'request_key':
      return 'gen_random_uuid()'
    case 'request_id':
      return `'filled-' || n`
    case 'key_hash':
      return 'NULL'
    case 'keep_until':
    case 'expires_at':
      return String(Date.now() + keptForMs)
    // Absent in tables without a sweep by time.
    case 'sweep_at':
      return `CASE WHEN ${own} IS NULL THEN NULL ELSE ${Date.now() + keptForMs} END`
    default:
      return own
  }
}

function idAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}
