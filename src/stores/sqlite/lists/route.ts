/**
 * Chooses the index for a list, and how far down it is read. All of these indexes are in the order of the ids, except two
 * that are used only for a small number of calls, which are then sorted.
 */
import type { Database, Statement } from 'better-sqlite3'
import { isTerminal, type State } from '../../../core/call/state.ts'
import { type CallFilter, SEARCHED_BYTES } from '../../../core/ports/call-list.ts'

/** The calls of one tenant in an index. */
export interface Route {
  index: string
  /** Only calls with this id or a higher one are looked at. Absent: all of them are. */
  floor?: string
}

/** Reading and sorting so many calls takes 5 ms, wherever they are in the file. */
const FEW = 2_000

export interface Range {
  /** Only calls with a lower id. */
  below: string
  /** Only calls with this id or a higher one. */
  from: string
}

export function prepareRoutes(db: Database) {
  const fewOf = (sql: string) => db.prepare(`SELECT count(*) <= ${FEW} FROM (SELECT 1 ${sql} LIMIT ${FEW + 1})`).pluck()
  const ofOwner = 'instances INDEXED BY instances_by_owner ON instances.owner = owners.ref'
  const fewOfTenant = fewOf(`FROM owners CROSS JOIN ${ofOwner} WHERE tenant = ?`)
  const fewOfOwner = fewOf(`FROM owners CROSS JOIN ${ofOwner} WHERE tenant = ? AND owners.owner = ?`)
  const fewOpen = fewOf('FROM instances INDEXED BY instances_open WHERE ended = 0')
  const within = (index: string, condition: string) =>
    `FROM instances INDEXED BY ${index} WHERE ${condition} AND id < ? AND id >= ? ORDER BY id DESC`
  const floors = new Map<string, Statement<unknown[], string>>()
  const sizes = db.prepare<[string, string, number], { id: string; bytes: number }>(
    `SELECT id, octet_length(args) + coalesce(octet_length(outcome), 0) AS bytes
     ${within('instances_by_id', '1')} LIMIT ?`,
  )

  function floorIn(index: string, condition: string, values: readonly string[], range: Range, scan: number): Route {
    const known = floors.get(index)
    const find =
      known ?? db.prepare<unknown[], string>(`SELECT id ${within(index, condition)} LIMIT 1 OFFSET ?`).pluck()
    floors.set(index, find)
    const floor = find.get(...values, range.below, range.from, scan - 1)
    return { index, ...(floor !== undefined && { floor }) }
  }

  function floorOfText({ below, from }: Range, scan: number): Route {
    let [seen, bytes] = [0, 0]
    for (const row of sizes.iterate(below, from, scan)) {
      bytes += row.bytes
      if (++seen === scan || bytes > SEARCHED_BYTES) return { index: 'instances_by_id', floor: row.id }
    }
    return { index: 'instances_by_id' }
  }

  return (tenant: string, filter: CallFilter, range: Range, scan: number): Route => {
    const { parent, replayOf, owner } = filter
    if (filter.text !== undefined) return floorOfText(range, scan)
    if (parent !== undefined) return floorIn('instances_by_parent', 'called_by = ?', [parent], range, scan)
    if (replayOf !== undefined) return floorIn('instances_by_replayed', 'replay_of = ?', [replayOf], range, scan)
    if (owner === undefined ? fewOfTenant.get(tenant) : fewOfOwner.get(tenant, owner)) {
      return { index: 'instances_by_owner' }
    }
    if (isOnlyOpen(filter) && fewOpen.get()) return { index: 'instances_open' }
    if (isOnlyFailed(filter)) return floorIn('instances_failed', 'fault_kind IS NOT NULL', [], range, scan)
    return floorIn('instances_by_id', '1', [], range, scan)
  }
}

function isOnlyOpen({ states, held }: CallFilter): boolean {
  return held === true || (states?.every((state) => !isTerminal(state)) ?? false)
}

/** Calls that ended with a fault. Nothing else ends a call in the state `error`. */
function isOnlyFailed({ states, code, kinds }: CallFilter): boolean {
  const failed: State = 'error'
  return code !== undefined || kinds !== undefined || (states?.every((state) => state === failed) ?? false)
}
