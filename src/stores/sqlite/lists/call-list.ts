/** Lists and counts calls for operators. Reads only: it blocks the event loop for some milliseconds at most. */
import type { Database, Statement } from 'better-sqlite3'
import type { Caller } from '../../../core/call/caller.ts'
import { idAt } from '../../../core/call/id-time.ts'
import type { InstanceExtras, Progress } from '../../../core/call/instance.ts'
import type { FaultKind } from '../../../core/fault.ts'
import type {
  AttemptHistory,
  CallCount,
  CallFilter,
  CallPage,
  CallQuery,
  CountBy,
  CountQuery,
  ListedCall,
  PastAttempt,
} from '../../../core/ports/call-list.ts'
import type { Owners } from '../owners.ts'
import type { InstanceRow } from '../rows.ts'
import { CONTAINS, conditionsOf, containsText } from './conditions.ts'
import { prepareRoutes, type Range, type Route } from './route.ts'

/** Above every id. */
const NEWEST = '~'
const MAX_GROUPS = 200
const MAX_STATEMENTS = 100

const COLUMNS = `id, instances.owner AS owner, request_id, operation, state, attempt, settled, failures, created_at, expires_at,
  ended_at, instances.caller AS caller, session_id, parent_id, idempotency_key, progress, extras, fault_kind, fault_code`

type ListedRow = Pick<
  InstanceRow,
  | 'id'
  | 'owner'
  | 'request_id'
  | 'operation'
  | 'state'
  | 'attempt'
  | 'settled'
  | 'failures'
  | 'created_at'
  | 'expires_at'
  | 'ended_at'
  | 'caller'
  | 'session_id'
  | 'parent_id'
  | 'idempotency_key'
  | 'progress'
  | 'extras'
  | 'fault_kind'
  | 'fault_code'
>

const GROUPED: Record<CountBy, string> = {
  state: 'state',
  operation: "substr(operation, 1, instr(operation, '@') - 1)",
  code: 'fault_code',
  owner: 'owners.owner',
}

export function prepareCallList(db: Database, owners: Owners, now: () => number) {
  db.function(CONTAINS, { deterministic: true }, containsText)
  const routeOf = prepareRoutes(db)
  const statements = new Map<string, Statement<unknown[]>>()
  const historyOf = db.prepare<[string], Pick<InstanceRow, 'past' | 'begun_at' | 'created_at' | 'attempt' | 'settled'>>(
    'SELECT past, begun_at, created_at, attempt, settled FROM instances WHERE id = ?',
  )

  /** There are many combinations of filters, and each is prepared when it is first used. */
  function prepared<R>(sql: string): Statement<unknown[], R> {
    const known = statements.get(sql)
    if (known) return known as Statement<unknown[], R>
    if (statements.size >= MAX_STATEMENTS) statements.clear()
    const statement = db.prepare<unknown[], R>(sql)
    statements.set(sql, statement)
    return statement
  }

  function ask<R>(
    { index, floor }: Route,
    { tenant, filter }: Pick<CallQuery, 'tenant' | 'filter'>,
    { below, from }: Range,
    select: string,
    rest: string,
    ...more: number[]
  ): R[] {
    const { sql, values } = conditionsOf(tenant, filter, now())
    const where = ['id < ?', 'id >= ?', ...sql].join(' AND ')
    const least = floor !== undefined && floor > from ? floor : from
    return prepared<R>(`SELECT ${select} FROM ${tablesOf(index)} WHERE ${where} ${condition(index)} ${rest}`).all(
      below,
      least,
      ...values,
      ...more,
    )
  }

  function decode(row: ListedRow): ListedCall {
    const { tenant, owner, caller } = owners.byRef(row.owner)
    return {
      id: row.id,
      tenant,
      owner,
      caller: row.caller === null ? caller : (JSON.parse(row.caller) as Caller),
      requestId: row.request_id,
      ...(row.session_id !== null && { sessionId: row.session_id }),
      ...(row.parent_id !== null && { parentId: row.parent_id }),
      ...(row.idempotency_key !== null && { idempotencyKey: row.idempotency_key }),
      operation: row.operation,
      state: row.state,
      attempt: row.attempt,
      settled: row.settled,
      failures: row.failures,
      ...(row.progress !== null && { progress: JSON.parse(row.progress) as Progress }),
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      ...(row.ended_at !== null && { endedAt: row.ended_at }),
      ...(row.extras !== null && { extras: JSON.parse(row.extras) as InstanceExtras }),
      ...(row.fault_kind !== null && { fault: { kind: row.fault_kind as FaultKind, code: row.fault_code ?? '' } }),
    }
  }

  return {
    page(query: CallQuery): CallPage {
      const { tenant, filter, after, limit, scan } = query
      const range = rangeOf(filter, after)
      const route = routeOf(tenant, filter, range, scan)
      const rows = ask<ListedRow>(route, query, range, COLUMNS, 'ORDER BY id DESC LIMIT ?', limit + 1)
      const calls = rows.slice(0, limit).map(decode)
      const more = rows.length > limit
      const next = more ? calls.at(-1)?.id : route.floor
      return { calls, ...(next !== undefined && { next }), complete: more || next === undefined }
    },

    count(query: CountQuery): CallCount {
      const { tenant, filter, by, scan } = query
      const range = rangeOf(filter)
      const route = routeOf(tenant, filter, range, scan)
      const value = by ? GROUPED[by] : 'NULL'
      const found = ask<{ value: string | null; count: number }>(
        route,
        query,
        range,
        `${value} AS value, count(*) AS count`,
        `GROUP BY ${value} ORDER BY count DESC, value`,
      )
      return {
        total: found.reduce((sum, { count }) => sum + count, 0),
        capped: route.floor !== undefined,
        groups: found.flatMap(({ value, count }) => (value === null ? [] : { value, count })).slice(0, MAX_GROUPS),
      }
    },

    attempts(id: string): AttemptHistory | undefined {
      const row = historyOf.get(id)
      if (!row) return undefined
      const underWay = row.attempt > row.settled && (row.begun_at !== null || row.attempt === 1)
      return {
        past: row.past === null ? [] : (JSON.parse(`[${row.past}]`) as PastAttempt[]),
        ...(underWay && { startedAt: row.begun_at ?? row.created_at }),
      }
    },
  }
}

/** SQLite joins them in this order. Few calls are found by their owners. Otherwise the owner of each call is looked up. */
function tablesOf(index: string): string {
  const calls = `instances INDEXED BY ${index}`
  const [first, second] = index === 'instances_by_owner' ? ['owners', calls] : [calls, 'owners']
  return `${first} CROSS JOIN ${second} ON owners.ref = instances.owner`
}

/** The condition of a partial index has to be in the statement. */
function condition(index: string): string {
  if (index === 'instances_failed') return 'AND fault_kind IS NOT NULL'
  return index === 'instances_open' ? 'AND ended = 0' : ''
}

function rangeOf({ since, until }: CallFilter, after?: string): Range {
  const ends = [after, until === undefined ? undefined : idAt(until)].filter((end) => end !== undefined)
  return {
    below: ends.reduce((least, end) => (end < least ? end : least), NEWEST),
    from: since === undefined ? '' : idAt(since),
  }
}
