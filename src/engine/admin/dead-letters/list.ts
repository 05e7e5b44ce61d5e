/** Dead letters: calls that ended for a reason that is not their caller's, until an operator has dealt with them. */
import type { Caller } from '../../../core/call/caller.ts'
import { DEAD_KINDS } from '../../../core/call/dead-letter.ts'
import { operation } from '../../../core/operation/define.ts'
import { nameIn } from '../../../core/operation/names.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { ListedCall } from '../../../core/ports/call-list.ts'
import type { Store } from '../../../core/ports/store.ts'
import { type CallSummary, SUMMARY_SCHEMA, summaryOf } from '../calls/call-view.ts'
import { CALL_FILTER, type CallFilterArgs, parseCallFilter } from '../calls/filter.ts'
import { type CallsParts, readPage } from '../calls/parts.ts'
import { noteSearch } from '../calls/reveals.ts'
import { ID, LIMIT, record, timeText } from '../shapes.ts'
import { markedOf } from './marks.ts'

export interface DeadLettersParts extends CallsParts {
  store: CallsParts['store'] & Pick<Store, 'records'>
}

interface Group {
  operation: string
  code: string
  count: number
  lastAt: string
}

export interface DeadLetterPage {
  calls: CallSummary[]
  next?: string
  /** False if the search ended before the limit. Go on with `next`. */
  complete: boolean
  /** On the first page: the newest dead letters, by operation and code, the most frequent first. */
  groups: Group[]
}

const NAME = 'v1:callplane.deadletters.list'

/** The most dead letters that are grouped. */
const MOST_GROUPED = 5_000
const LARGEST_PAGE = 2_000
/** Dead letters that an operator has dealt with are read, too. They can be very many. */
const MOST_READ = 10_000

export function listDeadLetters(parts: () => DeadLettersParts) {
  return operation(NAME, {
    description: 'Lists calls that ended by a timeout or by a failure of a tool or of the server, newest first.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<CallFilterArgs & { after?: string; limit?: number }>(
      record({ ...CALL_FILTER, after: ID, limit: LIMIT }),
    ),
    result: jsonSchema<DeadLetterPage>({
      type: 'object',
      required: ['calls', 'complete', 'groups'],
      properties: { calls: { type: 'array', items: SUMMARY_SCHEMA }, next: ID, complete: { type: 'boolean' } },
    }),
    async run(args, ctx) {
      const { limit = 50, after, ...filter } = args
      const { caller } = ctx
      const all = parts()
      // Throws if the caller may not search. Such a search is not noted.
      parseCallFilter(filter, caller)
      await noteSearch(all, NAME, args, ctx)
      const page = await deadLetters(all, caller, filter, limit, after)
      const groups = after === undefined ? await groupsOf(all, caller, filter) : []
      return { ...page, calls: page.calls.map((call) => summaryOf(all.env, call)), groups }
    },
  })
}

/** One page of dead letters that no operator has dealt with. It may have fewer than `limit`, although there are more. */
export async function deadLetters(
  parts: DeadLettersParts,
  caller: Caller,
  filter: CallFilterArgs,
  limit: number,
  after?: string,
): Promise<{ calls: ListedCall[]; next?: string; complete: boolean }> {
  const { tenant } = caller
  const wanted = { ...parseCallFilter(filter, caller), kinds: DEAD_KINDS }
  const found: ListedCall[] = []
  let cursor = after
  let read = 0
  // Where many are dealt with, each page is larger than the one before.
  for (let size = limit; ; size = Math.min(4 * size, LARGEST_PAGE)) {
    const place = cursor !== undefined && { after: cursor }
    const page = await readPage(parts, { tenant, filter: wanted, limit: size, ...place })
    const ids = page.calls.map(({ id }) => id)
    read += ids.length
    const dealt = await markedOf(parts.store.records, tenant, ids)
    const [open, more] = [page.calls.filter(({ id }) => !dealt.has(id)), limit - found.length]
    found.push(...open.slice(0, more))
    const last = found.at(-1)
    if (open.length > more && last) return { calls: found, next: last.id, complete: true }
    cursor = page.next
    if (cursor === undefined) return { calls: found, complete: true }
    const isFull = found.length === limit
    if (isFull || !page.complete || read >= MOST_READ) return { calls: found, next: cursor, complete: isFull }
  }
}

async function groupsOf(parts: DeadLettersParts, caller: Caller, filter: CallFilterArgs): Promise<Group[]> {
  const groups = new Map<string, Group>()
  const { calls } = await deadLetters(parts, caller, filter, MOST_GROUPED)
  for (const call of calls) addTo(groups, call)
  return [...groups.values()].sort((one, other) => other.count - one.count)
}

function addTo(groups: Map<string, Group>, { operation: key, fault, endedAt = 0 }: ListedCall): void {
  const name = nameIn(key)
  const code = fault?.code ?? ''
  const id = JSON.stringify([name, code])
  const known = groups.get(id)
  if (known) {
    known.count++
    const at = timeText(endedAt)
    if (at > known.lastAt) known.lastAt = at
  } else groups.set(id, { operation: name, code, count: 1, lastAt: timeText(endedAt) })
}
