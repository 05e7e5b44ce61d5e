/**
 * Lists and counts calls for operators, generation by generation, the newest first. A call that moves to the kept ones
 * meanwhile is then seen twice, and not missed.
 */
import { idAt } from '../../../core/call/id-time.ts'
import {
  type AttemptHistory,
  type CallCount,
  type CallFilter,
  type CallList,
  type CallPage,
  type CallQuery,
  type CountBy,
  type CountQuery,
  needleOf,
  type PastAttempt,
  SEARCHED_CHARACTERS,
} from '../../../core/ports/call-list.ts'
import type { CallReads } from '../calls/reads.ts'
import { BY_LETTER, letterOf } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import { type Generations, perGeneration } from '../generations/generations.ts'
import { firstIdFrom, isId, LAST_ID } from '../sql/ids.ts'
import { decodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import { CONDITION, type Filtered, filtered, PARAMETERS, type Range } from './filters.ts'
import { decodeListed, LISTED_COLUMNS, type ListedRow } from './listed-rows.ts'
import { createRoutes, type Route } from './routes.ts'

export interface CallListParts {
  tables: Tables
  generations: Generations
  reads: CallReads
  batches: Batches
  now(): number
}

const MAX_GROUPS = 200

const GROUPED: Record<CountBy, string> = {
  state: 'c.state::text',
  operation: "split_part(c.operation, '@', 1)",
  code: 'c.fault_code',
  owner: 'k.owner',
}

/** One generation of a list, with the calls that were found by a text. */
interface Part {
  generation: number
  by: Route['by']
  range: Range
  ids?: readonly string[]
}

export function createCallList({ tables, generations, reads, batches, now }: CallListParts): CallList {
  const { calls, callers } = tables
  const routeOf = createRoutes(tables)
  const limit = `$${PARAMETERS + 1}`
  const joined = (generation: number) =>
    `FROM ${calls(generation)} c JOIN ${callers(generation)} k ON k.hash = c.caller WHERE ${CONDITION}`
  const ofCallers = (generation: number) =>
    `FROM ${callers(generation)} k CROSS JOIN LATERAL (
        SELECT * FROM ${calls(generation)} c WHERE c.caller = k.hash OFFSET 0) AS c WHERE ${CONDITION}`
  const pageBy = (more: string) =>
    perGeneration((generation) =>
      statement(`SELECT ${LISTED_COLUMNS} ${joined(generation)} ${more} ORDER BY c.id DESC LIMIT ${limit}`),
    )
  const pages = {
    id: pageBy(''),
    failed: pageBy('AND c.fault_kind IS NOT NULL'),
    parent: pageBy('AND c.called_by = $14::uuid'),
    replayed: pageBy('AND c.replay_of = $15::uuid'),
    // There are few, so all of them are read. If it saw the range of ids, the planner chose the index on ids instead of
    // the one on callers, and read the calls of all tenants.
    callers: perGeneration((generation) =>
      statement(`SELECT ${LISTED_COLUMNS} ${ofCallers(generation)} ORDER BY c.id DESC LIMIT ${limit}`),
    ),
  }
  const countBy = (value: string) => {
    const counting = (source: (generation: number) => string) =>
      perGeneration((generation) =>
        statement(`SELECT ${value} AS value, count(*)::int AS count ${source(generation)} GROUP BY 1`),
      )
    const some = (more: string) => counting((generation) => `${joined(generation)} ${more}`)
    return {
      id: some(''),
      failed: some('AND c.fault_kind IS NOT NULL'),
      parent: some('AND c.called_by = $14::uuid'),
      replayed: some('AND c.replay_of = $15::uuid'),
      callers: counting(ofCallers),
    }
  }
  const counts = {
    none: countBy('NULL::text'),
    state: countBy(GROUPED.state),
    operation: countBy(GROUPED.operation),
    code: countBy(GROUPED.code),
    owner: countBy(GROUPED.owner),
  }
  const texts = perGeneration((generation) =>
    statement(`SELECT c.id, left(c.args, ${SEARCHED_CHARACTERS}) AS args, left(c.outcome, ${SEARCHED_CHARACTERS}) AS outcome
      ${joined(generation)}`),
  )
  const history = perGeneration((generation) =>
    statement(
      `SELECT past, begun_at, created_at, state, attempt, settled FROM ${calls(generation)} WHERE id = $1::uuid`,
    ),
  )

  /** The parts of a list. `floor`: below it, some calls were not looked at. */
  async function* partsOf(
    session: Session,
    query: Pick<CallQuery, 'tenant' | 'filter' | 'scan'>,
    whole: Range,
    conditions: Filtered,
    { reached, leastWanted = () => '' }: { reached(floor: string): void; leastWanted?(): string },
  ): AsyncGenerator<Part> {
    let { from } = whole
    let left = query.scan
    await generations.refresh(session)
    for (const generation of conditions.possible ? generations.live : []) {
      if (leastWanted() > from) from = leastWanted()
      const range = { below: whole.below, from }
      const route = await routeOf(session, generation, { ...query, scan: Math.max(left, 1) }, range)
      if (!route) continue
      left -= route.scanned
      if (route.floor !== undefined) {
        from = route.floor
        reached(from)
      }
      const part = { generation, by: route.by, range: { ...range, from } }
      const { text } = query.filter
      yield text === undefined ? part : { ...part, ids: await search(session, part, conditions, text) }
    }
  }

  /** Postgres ignores the case of other letters than A to Z only with some locales, so the texts are compared here. */
  async function search(session: Session, { generation, range }: Part, conditions: Filtered, text: string) {
    type Row = { id: string; args: string | null; outcome: string | null }
    const { rows } = await session.query<Row>(texts(generation), conditions.values(range))
    const needle = needleOf(text)
    const has = (value: string | null) => value?.toLowerCase().includes(needle) === true
    return rows.filter(({ args, outcome }) => has(args) || has(outcome)).map(({ id }) => id)
  }

  async function page(session: Session, query: CallQuery): Promise<CallPage> {
    const { tenant, filter, after, limit: most } = query
    const conditions = filtered(tenant, filter, now())
    let floor: string | undefined
    const found = new Map<string, ListedRow>()
    let least = ''
    const parts = partsOf(session, query, rangeOf(filter, after), conditions, {
      reached(at) {
        floor = at
      },
      // Once the page is full, calls with lower ids cannot be in it.
      leastWanted: () => least,
    })
    for await (const { generation, by, range, ids } of parts) {
      const values = [...conditions.values(range, ids), most + 1]
      for (const row of (await session.query<ListedRow>(pages[by](generation), values)).rows) found.set(row.id, row)
      if (found.size > most) least = newestFirst(found)[most]?.id ?? least
    }
    const rows = newestFirst(found).filter(({ id }) => floor === undefined || id >= floor)
    const shown = rows.slice(0, most).map(decodeListed)
    const more = rows.length > most
    const next = more ? shown.at(-1)?.id : floor
    return { calls: shown, ...(next !== undefined && { next }), complete: more || next === undefined }
  }

  async function count(session: Session, query: CountQuery): Promise<CallCount> {
    const { tenant, filter, by: grouped } = query
    const conditions = filtered(tenant, filter, now())
    let capped = false
    let total = 0
    const groups = new Map<string, number>()
    const parts = partsOf(session, query, rangeOf(filter), conditions, {
      reached() {
        capped = true
      },
    })
    for await (const { generation, by, range, ids } of parts) {
      const counting = counts[grouped ?? 'none'][by](generation)
      type Row = { value: string | null; count: number }
      for (const { value, count } of (await session.query<Row>(counting, conditions.values(range, ids))).rows) {
        total += count
        if (value === null) continue
        const shown = grouped === 'state' ? (BY_LETTER.get(value) ?? value) : decodeText(value)
        groups.set(shown, (groups.get(shown) ?? 0) + count)
      }
    }
    const sorted = [...groups].map(([value, count]) => ({ value, count }))
    sorted.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    return { total, capped, groups: sorted.slice(0, MAX_GROUPS) }
  }

  async function attempts(session: Session, id: string): Promise<AttemptHistory | undefined> {
    const [place] = isId(id) ? await reads.revisions(session, [id]) : []
    if (!place) return undefined
    const { rows } = await session.query<HistoryRow>(history(place.generation), [id])
    const [row] = rows
    if (!row) return undefined
    // A call that waits for a slot of its node has a lease, and has not begun.
    const hasBegun = row.begun_at !== null || (row.attempt === 1 && row.state !== letterOf('accepted'))
    const underWay = row.attempt > row.settled && hasBegun
    return {
      past: row.past === null ? [] : (JSON.parse(`[${row.past}]`) as PastAttempt[]),
      ...(underWay && { startedAt: row.begun_at ?? row.created_at }),
    }
  }

  return {
    page: (query) => alone(batches, 'list of calls', (session) => page(session, query)),
    count: (query) => alone(batches, 'count of calls', (session) => count(session, query)),
    attempts: (id) => alone(batches, 'attempts', (session) => attempts(session, id)),
  }
}

interface HistoryRow {
  past: string | null
  begun_at: number | null
  created_at: number
  state: string
  attempt: number
  settled: number
}

function newestFirst(found: ReadonlyMap<string, ListedRow>): ListedRow[] {
  return [...found.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
}

function rangeOf({ since, until }: CallFilter, after?: string): Range {
  const ends = [after, until === undefined ? undefined : idAt(until)].filter((end) => end !== undefined)
  return {
    below: firstIdFrom(ends.reduce((least, end) => (end < least ? end : least), LAST_ID)),
    from: idAt(since ?? 0),
  }
}
