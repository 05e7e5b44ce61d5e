/** The calls that a command acts on: by their ids, or all that match a filter, after the person has seen how many. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseWhole } from '../arguments.ts'
import { administer, objectsIn } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type CommandIo, print, usageFault } from '../command.ts'
import { canAsk, confirm } from '../terminal/confirm.ts'
import { tableText } from '../terminal/table.ts'
import { cellOf } from './call-rows.ts'
import { filterOf } from './filter-options.ts'
import { SEE_CALLS } from './pages.ts'

/** The most ids of one request. */
const MOST_IDS = 200

export const SELECTION_OPTIONS = {
  filter: { type: 'string' },
  expected: { type: 'string' },
  why: { type: 'string' },
  yes: { type: 'boolean', default: false },
} as const

export const SELECTION_HELP = `  --filter <text>        All calls that match, instead of ids. It counts them first, and asks on a terminal.
  --expected <n>         Acts without a question if the filter matches this many calls, and on none otherwise.
  --yes                  Acts without a question on all calls that match.
  --why <text>           The reason. It is required, and the server keeps it.`

export interface SelectionWish {
  ids: readonly string[]
  filter?: string
  expected?: string
  why?: string
  yes: boolean
  /** Only dead letters that are neither dismissed nor replayed. */
  deadLetters: boolean
}

interface Selecting {
  io: CommandIo
  server: Remote
  /** For the question: "Cancel 3 calls?" */
  verb: string
}

/** The arguments of each request to send. None if nothing matches, or if the person says no. */
export async function selectCalls(selecting: Selecting, wish: SelectionWish): Promise<JsonObject[]> {
  const { ids, filter, why } = wish
  if (why === undefined || why.trim() === '') throw usageFault('Write the reason with --why. The server keeps it.')
  if (ids.length > 0 && filter !== undefined) throw usageFault('Name ids or a --filter, not both.')
  if (ids.length > 0 && wish.expected !== undefined) throw usageFault('--expected belongs to a --filter.')
  if (ids.length > 0) return packed([...new Set(ids)]).map((some) => ({ ids: some, why }))
  if (filter === undefined && !wish.deadLetters) throw usageFault('Name the ids of the calls, or a --filter.')
  const matching = { ...filterOf(filter ?? '', {}, Date.now()), ...(wish.deadLetters && { deadLetter: true }) }
  const expected = await expectedOf(selecting, matching, wish)
  return expected === undefined ? [] : [{ filter: matching, expected, why }]
}

function packed(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, pack) =>
    ids.slice(pack * MOST_IDS, (pack + 1) * MOST_IDS),
  )
}

async function expectedOf(
  { io, server, verb }: Selecting,
  filter: JsonObject,
  { expected, yes }: SelectionWish,
): Promise<number | undefined> {
  if (expected !== undefined) return parseWhole(expected, '--expected', 0, Number.MAX_SAFE_INTEGER)
  const { total, groups } = await countMatching(server, filter)
  if (total === 0) {
    print(io.stderr, 'No calls match the filter.')
    return undefined
  }
  if (yes) return total
  if (!canAsk(io)) {
    throw usageFault(`The filter matches ${calls(total)}. To go on, add --expected ${total}, or --yes for any number.`)
  }
  print(io.stderr, tableText(groups, io.stderr))
  if (await confirm(io, `${verb} ${calls(total)}?`)) return total
  print(io.stderr, 'Nothing was changed.')
  return undefined
}

export function calls(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`
}

/** With rows that say how many of which operation. */
async function countMatching(server: Remote, filter: JsonObject): Promise<{ total: number; groups: string[][] }> {
  const { deadLetter, ...others } = filter
  if (deadLetter === true) return countDeadLetters(server, others)
  const { total, capped, groups } = await administer(server, 'calls.count', { ...others, by: 'operation' }, SEE_CALLS)
  if (capped === true) {
    throw new Fault('upstream', `More than ${total} calls match. Narrow the filter, for example with since:1h.`, {
      code: 'SELECTION_TOO_LARGE',
    })
  }
  return { total: Number(total), groups: objectsIn(groups).map(({ value, count }) => [cellOf(count), cellOf(value)]) }
}

async function countDeadLetters(server: Remote, filter: JsonObject) {
  const { groups } = await administer(server, 'deadletters.list', { ...filter, limit: 1 }, SEE_CALLS)
  const found = objectsIn(groups)
  return {
    total: found.reduce((sum, { count }) => sum + Number(count), 0),
    groups: found.map(({ count, operation, code }) => [cellOf(count), cellOf(operation), cellOf(code)]),
  }
}
