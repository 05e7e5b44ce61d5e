/** Reads a list of calls page by page, newest first, up to a limit. */
import type { CallFilterArgs } from '../../core/filter/call-filter.ts'
import type { JsonObject } from '../../core/json.ts'
import { administer, objectsIn, type Wanted } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { type CommandIo, print } from '../command.ts'
import { wantsLines } from '../terminal/lines.ts'
import { plainLine } from '../terminal/text.ts'

/** The most calls of one page. */
const PAGE = 200

export const SEE_CALLS: Wanted = { action: 'see the calls of all callers', scope: 'callplane:read' }

export interface ListQuery {
  operation: 'calls.list' | 'deadletters.list'
  filter: CallFilterArgs
  limit: number
  /** Only older calls than this one. */
  after: string | undefined
}

/** What a list left out. */
export interface Rest {
  /** The last call that was looked at. */
  next: string
  /** The server ended its search before it had found enough. */
  stopped: boolean
}

/** Calls `use` with every page as it arrives. */
export async function readPages(
  server: Remote,
  { operation, filter, limit, after }: ListQuery,
  use: (calls: readonly JsonObject[], page: JsonObject) => void,
): Promise<Rest | undefined> {
  let left = limit
  let cursor = after
  for (;;) {
    const place = cursor !== undefined && { after: cursor }
    const page = await administer(server, operation, { ...filter, limit: Math.min(left, PAGE), ...place }, SEE_CALLS)
    const calls = objectsIn(page.calls)
    use(calls, page)
    left -= calls.length
    const { next, complete } = page
    if (typeof next !== 'string') return undefined
    if (complete === false || left <= 0) return { next, stopped: complete === false }
    cursor = next
  }
}

/** Tells how to go on. A program hears only of a search that was not finished. */
export function noteRest(io: CommandIo, rest: Rest | undefined, json: boolean): void {
  if (!rest || (!rest.stopped && wantsLines(io, { json }))) return
  const why = rest.stopped
    ? 'The server stopped its search before its end, so older calls may match too.'
    : 'There may be more calls.'
  print(io.stderr, `${why} To go on, add: --after ${plainLine(rest.next)}`)
}
