/**
 * Chooses the index for a list in one generation, and how far down it is read. The calls of a tenant are found by its
 * callers if they are few. Otherwise they are found among the newest calls of all tenants.
 */
import { type CallFilter, SEARCHED_BYTES } from '../../../core/ports/call-list.ts'
import { type Session, statement } from '../connect/session.ts'
import { perGeneration } from '../generations/generations.ts'
import { encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import type { Range } from './filters.ts'

export interface Route {
  by: 'id' | 'failed' | 'parent' | 'replayed' | 'callers'
  /** Only calls with this id or a higher one are looked at. Absent: all of them are. */
  floor?: string
  /** How many calls are looked at, at most. */
  scanned: number
}

/** So many calls are read and sorted, wherever they are. */
const FEW = 2_000

export type ChooseRoute = (
  session: Session,
  generation: number,
  query: { tenant: string; filter: CallFilter; scan: number },
  range: Range,
) => Promise<Route | undefined>

/** It returns nothing for a generation without a call of the tenant. */
export function createRoutes({ calls, callers }: Tables): ChooseRoute {
  const last = (condition: string) =>
    perGeneration((generation) =>
      statement(`SELECT count(*)::int AS scanned, (array_agg(id))[count(*)] AS least FROM (
        SELECT c.id FROM ${calls(generation)} c WHERE c.id < $1::uuid AND c.id >= $2::uuid ${condition}
        ORDER BY c.id DESC LIMIT $3) AS seen`),
    )
  const lastById = last('')
  const lastFailed = last('AND c.fault_kind IS NOT NULL')
  const lastOfParent = last('AND c.called_by = $4::uuid')
  const lastReplayed = last('AND c.replay_of = $4::uuid')
  const sizes = perGeneration((generation) =>
    statement(`SELECT c.id, octet_length(c.args) + coalesce(octet_length(c.outcome), 0) AS bytes
      FROM ${calls(generation)} c WHERE c.id < $1::uuid AND c.id >= $2::uuid ORDER BY c.id DESC LIMIT $3`),
  )
  const ofTenant = 'k.tenant = $1 AND ($2::text IS NULL OR k.owner = $2)'
  const countCalls = perGeneration((generation) =>
    statement(`SELECT count(*)::int AS count FROM (SELECT FROM ${callers(generation)} k JOIN ${calls(generation)} c
      ON c.caller = k.hash WHERE ${ofTenant} LIMIT ${FEW + 1}) AS seen`),
  )
  return async (session, generation, { tenant, filter, scan }, { below, from }) => {
    const { owner, parent, replayOf, text } = filter
    const who = [encodeText(tenant), owner === undefined ? null : encodeText(owner)]
    const lastOf = async (by: Route['by'], find: typeof lastById, more: readonly string[] = []): Promise<Route> => {
      type Row = { scanned: number; least: string | null }
      const { rows } = await session.query<Row>(find(generation), [below, from, scan, ...more])
      const [{ scanned, least } = { scanned: 0, least: null }] = rows
      return { by, scanned, ...(scanned === scan && least !== null && { floor: least }) }
    }

    if (text !== undefined) {
      type Row = { id: string; bytes: number }
      const { rows } = await session.query<Row>(sizes(generation), [below, from, scan])
      let bytes = 0
      for (const [at, row] of rows.entries()) {
        bytes += row.bytes
        if (bytes > SEARCHED_BYTES || at + 1 === scan) return { by: 'id', scanned: at + 1, floor: row.id }
      }
      return { by: 'id', scanned: rows.length }
    }
    if (parent !== undefined) return lastOf('parent', lastOfParent, [parent])
    if (replayOf !== undefined) return lastOf('replayed', lastReplayed, [replayOf])
    const { rows } = await session.query<{ count: number }>(countCalls(generation), who)
    const found = rows[0]?.count ?? 0
    if (found === 0) return undefined
    if (found <= FEW) return { by: 'callers', scanned: found }
    return isOnlyFailed(filter) ? lastOf('failed', lastFailed) : lastOf('id', lastById)
  }
}

/** Calls that ended with a fault. Nothing else ends a call in the state `error`. */
function isOnlyFailed({ states, code, kinds }: CallFilter): boolean {
  return code !== undefined || kinds !== undefined || (states?.every((state) => state === 'error') ?? false)
}
