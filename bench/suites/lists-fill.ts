/** Varies stored calls, which were all alike: some failed, some are open, and a second tenant has a thousand of them. */
import Database from 'better-sqlite3'
import pg from 'pg'
import { tablesOfCalls } from '../call-tables.ts'

export interface Filled {
  /** The id of a call in the middle. */
  middle: string
  /** A tenant with few calls. */
  small: string
}

const SMALL = 'small'
const FAULT = '{"kind":"fault","fault":{"kind":"upstream","code":"NO_ANSWER","message":"No answer.","retryable":true}}'
/** One of so many calls failed. */
const FAILED = 500

export function varySqlite(file: string): Filled {
  const db = new Database(file)
  try {
    const number = (sql: string) => Number(db.prepare(sql).pluck().get())
    const calls = number('SELECT count(*) FROM instances')
    const caller = '{"tenant":"small","issuer":"none","subject":"ada","scopes":[]}'
    const { lastInsertRowid: owner } = db
      .prepare('INSERT INTO owners (tenant, owner, caller) VALUES (?, ?, ?)')
      .run(SMALL, 'none|ada', caller)
    const fail = (
      code: string,
    ) => `UPDATE instances SET state = 'error', fault_kind = 'upstream', fault_code = '${code}',
      outcome = '${FAULT.replace('NO_ANSWER', code)}'`
    db.exec(`${fail('NO_ANSWER')} WHERE ref % ${FAILED} = 7`)
    db.exec(`${fail('RARE')} WHERE ref % ${Math.ceil(calls / 10)} = 11`)
    db.exec(`UPDATE instances SET owner = ${owner} WHERE ref % ${Math.ceil(calls / 1_000)} = 3`)
    db.exec(`UPDATE instances SET state = 'pending', ended = 0, outcome = NULL, ended_at = NULL, audit = NULL
      WHERE ref % ${Math.ceil(calls / 500)} = 5 AND fault_kind IS NULL`)
    db.pragma('wal_checkpoint(TRUNCATE)')
    const middle = db.prepare<[number], string>('SELECT id FROM instances ORDER BY id LIMIT 1 OFFSET ?').pluck()
    return { middle: middle.get(Math.floor(calls / 2)) ?? '', small: SMALL }
  } finally {
    db.close()
  }
}

export async function varyPostgres(url: string): Promise<Filled> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let middle = ''
    for (const table of await tablesOfCalls(client)) {
      const { rows } = await client.query<{ calls: number }>(`SELECT count(*)::int AS calls FROM ${table}`)
      const calls = rows[0]?.calls ?? 0
      if (calls < 1_000) continue
      const callers = table.replace('calls_', 'callers_')
      await client.query(`INSERT INTO ${callers} VALUES (md5('small')::uuid, '${SMALL}', 'none|ada',
        '{"tenant":"small","issuer":"none","subject":"ada","scopes":[]}')`)
      await client.query(
        `CREATE TEMPORARY TABLE numbered AS SELECT id, row_number() OVER (ORDER BY id) AS n FROM ${table}`,
      )
      const change = (set: string, each: number, rest: number) =>
        client.query(`UPDATE ${table} c SET ${set} FROM numbered WHERE numbered.id = c.id AND n % ${each} = ${rest}
          AND c.caller IS NOT NULL`)
      const fail = (code: string) =>
        `state = 'e', fault_kind = 'upstream', fault_code = '${code}', outcome = '${FAULT.replace('NO_ANSWER', code)}'`
      await change(fail('NO_ANSWER'), FAILED, 7)
      await change(fail('RARE'), Math.ceil(calls / 10), 11)
      await change(`caller = md5('small')::uuid`, Math.ceil(calls / 1_000), 3)
      await client.query(`VACUUM ANALYZE ${table}`)
      const found = await client.query<{ id: string }>(`SELECT id FROM numbered WHERE n = ${Math.floor(calls / 2)}`)
      middle = found.rows[0]?.id ?? middle
      await client.query('DROP TABLE numbered')
    }
    return { middle, small: SMALL }
  } finally {
    await client.end()
  }
}
