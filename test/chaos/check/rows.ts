/**
 * The store at the end of a run, by SQL. Only this file knows tables. It takes every table that has the columns of a
 * call, so that it does not depend on how many there are.
 */
import { requestKey } from '../../../src/stores/postgres/calls/keys.ts'
import type { Database } from '../cluster/database.ts'
import { type ChaosCall, isEnd, nowMs } from '../history.ts'
import { mayBeGone } from './expiry.ts'

interface Row {
  request_key: string
  request_id: string
  operation: string
  state: string
  age_ms: number
}

const COLUMNS = ['request_key', 'request_id', 'operation', 'state', 'attempt', 'revision']
const OPEN = ['a', 'p', 's']
const ENDS: Readonly<Record<string, string>> = { c: 'complete', e: 'error' }
const ALIAS = 'l'
/** A stream whose reader never came ends after a minute. */
const UNREAD_MS = 100_000

export interface Stored {
  problems: readonly string[]
  /** Tables that have calls. */
  tables: number
  /** Generations that were dropped in the course of the run. */
  dropped: number
}

export async function checkRows(database: Database, calls: readonly ChaosCall[]): Promise<Stored> {
  const { rows, tables } = await readRows(database)
  const byKey = Map.groupBy(rows, ({ request_key }) => request_key)
  const problems = [...byKey.values()].flatMap((same) =>
    same.length > 1 ? [`the request id ${same[0]?.request_id} of one caller has ${same.length} rows`] : [],
  )
  for (const { request_id, operation, state, age_ms } of rows)
    if (OPEN.includes(state) && (state !== 's' || age_ms > UNREAD_MS))
      problems.push(`${request_id} (${operation}) is left open (${state})`)
  for (const call of calls) {
    const { requestId, label, caller, kind, sightings } = call
    const end = sightings.find(isEnd)
    if (!end || kind === 'grant') continue
    const [row] = byKey.get(requestKey('main', `callplane|${caller}`, requestId)) ?? []
    if (!row && !mayBeGone(call, nowMs()))
      problems.push(`${requestId} (${label}) is lost: it was ${end.state}, and has no row`)
    else if (row && row.state !== ALIAS && ENDS[row.state] !== end.state)
      problems.push(`${requestId} (${label}) was ${end.state}, and its row says ${row.state}`)
  }
  const [generations] = await database.query<{ dropped: number }>(
    'SELECT max(number) - count(*) FILTER (WHERE number > 0)::int AS dropped FROM callplane.generations',
  )
  return { problems, tables, dropped: generations?.dropped ?? 0 }
}

async function readRows(database: Database): Promise<{ rows: Row[]; tables: number }> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     WHERE column_name = ANY ($1) AND table_schema = 'callplane' GROUP BY 1 HAVING count(*) = $2`,
    [COLUMNS, COLUMNS.length],
  )
  const perTable = await Promise.all(
    tables.map(({ name }) =>
      database.query<Row>(
        `SELECT replace(request_key::text, '-', '') AS request_key, request_id, operation, state::text,
           (extract(epoch FROM clock_timestamp()) * 1000 - created_at)::float AS age_ms FROM ${name}`,
      ),
    ),
  )
  return { rows: perTable.flat(), tables: perTable.filter(({ length }) => length > 0).length }
}
