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

/** The most dead letters that are grouped. */
const MOST_GROUPED = 5_000
const PAGE = 1_000
/** Dead letters that an operator has dealt with are read, too. */
const MOST_PAGES = 20

export function listDeadLetters(parts: () => DeadLettersParts) {
  return operation('v1:callplane.deadletters.list', {
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
    async run({ limit = 50, after, ...filter }, { caller }) {
      const all = parts()
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
  for (;;) {
    const place = cursor !== undefined && { after: cursor }
    const page = await readPage(parts, { tenant, filter: wanted, limit: limit - found.length, ...place })
    const ids = page.calls.map(({ id }) => id)
    const dealt = await markedOf(parts.store.records, tenant, ids)
    found.push(...page.calls.filter(({ id }) => !dealt.has(id)))
    cursor = page.next
    const isFull = found.length === limit
    if (cursor === undefined) return { calls: found, complete: true }
    if (isFull || !page.complete) return { calls: found, next: cursor, complete: isFull }
  }
}

async function groupsOf(parts: DeadLettersParts, caller: Caller, filter: CallFilterArgs): Promise<Group[]> {
  const groups = new Map<string, Group>()
  let after: string | undefined
  for (let [pages, seen] = [0, 0]; pages < MOST_PAGES && seen < MOST_GROUPED; pages++) {
    const page = await deadLetters(parts, caller, filter, PAGE, after)
    for (const call of page.calls) addTo(groups, call)
    seen += page.calls.length
    after = page.next
    if (after === undefined) break
  }
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
