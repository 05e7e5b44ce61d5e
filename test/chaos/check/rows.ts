/**
 * The store at the end of a run, by SQL. Only this file knows tables. It takes every table that has the columns of a
 * call, so that it does not depend on how many there are.
 */
import type { Database } from '../cluster/database.ts'
import { type ChaosCall, isEnd } from '../history.ts'

interface Row {
  tenant: string
  owner: string
  request_id: string
  state: string
}

const COLUMNS = ['tenant', 'owner', 'request_id', 'state', 'attempt', 'revision']
const OPEN = ['a', 'p', 's']
const ENDS: Readonly<Record<string, string>> = { c: 'complete', e: 'error' }
const ALIAS = 'l'

export async function rowProblems(database: Database, calls: readonly ChaosCall[]): Promise<string[]> {
  const rows = await readRows(database)
  const byId = Map.groupBy(rows, ({ owner, request_id }) => `${owner} ${request_id}`)
  const problems = [...byId].flatMap(([id, same]) =>
    same.length > 1 ? [`the request id ${id} has ${same.length} rows`] : [],
  )
  for (const { owner, request_id, state } of rows)
    if (OPEN.includes(state) && !owner.endsWith('|dora'))
      problems.push(`${request_id} of ${owner} is left open (${state})`)
  for (const { requestId, label, caller, kind, sightings } of calls) {
    const end = sightings.find(isEnd)
    if (!end || kind === 'grant') continue
    const [row] = byId.get(`callplane|${caller} ${requestId}`) ?? []
    if (!row) problems.push(`${requestId} (${label}) is lost: it was ${end.state}, and has no row`)
    else if (row.state !== ALIAS && ENDS[row.state] !== end.state)
      problems.push(`${requestId} (${label}) was ${end.state}, and its row says ${row.state}`)
  }
  return problems
}

async function readRows(database: Database): Promise<Row[]> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     WHERE column_name = ANY ($1) AND table_schema = 'callplane' GROUP BY 1 HAVING count(*) = $2`,
    [COLUMNS, COLUMNS.length],
  )
  const rows: Row[] = []
  for (const { name } of tables)
    rows.push(...(await database.query<Row>(`SELECT tenant, owner, request_id, state::text FROM ${name}`)))
  return rows
}
