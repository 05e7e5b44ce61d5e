/** The calls that an operator acts on: by their ids, or all that match a filter. Only calls of the operator's tenant. */
import type { Caller } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import { DEAD_KINDS } from '../../../core/call/dead-letter.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { CallFilter } from '../../../core/ports/call-list.ts'
import type { Store } from '../../../core/ports/store.ts'
import { markedOf } from '../dead-letters/marks.ts'
import { COUNT, ID, MAX_PAGE, record } from '../shapes.ts'
import { CALL_FILTER, type CallFilterArgs, parseCallFilter } from './filter.ts'
import { type CallsParts, readPage } from './parts.ts'
import { noteSearch } from './reveals.ts'

/** The filter of an action. */
export interface ActFilter extends CallFilterArgs {
  /** Only dead letters that are neither dismissed nor replayed. */
  deadLetter?: true
}

export interface Selection {
  ids?: string[]
  filter?: ActFilter
  /** The number of calls that the operator saw. */
  expected?: number
}

export interface SelectParts extends CallsParts {
  store: CallsParts['store'] & Pick<Store, 'records'>
}

/** The most calls of one request. */
const MOST_SELECTED = 5_000
const PAGE = 1_000

const WHY: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 }

/** The arguments of an operation that acts on selected calls. */
export function selecting(more: Record<string, JsonObject> = {}, required: readonly string[] = []): JsonObject {
  const filter = record({ ...CALL_FILTER, deadLetter: { const: true } })
  const ids = { type: 'array', minItems: 1, maxItems: MAX_PAGE, uniqueItems: true, items: ID }
  return {
    ...record({ ids, filter, expected: COUNT, why: WHY, ...more }, ['why', ...required]),
    oneOf: [{ required: ['ids'] }, { required: ['filter', 'expected'] }],
  }
}

/**
 * The ids of the selected calls. Throws if the filter matches another number than the operator saw. `name` is the
 * operation that acts on them.
 */
export async function selectCalls(
  parts: SelectParts,
  /** The call that acts on them. It does not select itself. */
  ctx: Pick<HandlerContext, 'caller' | 'key' | 'requestId'>,
  { ids, filter, expected }: Selection,
  name: string,
): Promise<readonly string[]> {
  if (ids || !filter) return ids ?? []
  const { caller, key: self } = ctx
  requireRead(caller)
  const { deadLetter: _, ...searched } = filter
  // Throws if the caller may not search, or if the filter is wrong. Such a search is not noted.
  parseCallFilter(searched, caller)
  await noteSearch(parts, name, searched, ctx)
  const found = (await matching(parts, caller, filter)).filter((id) => id !== self)
  if (found.length === expected) return found
  throw new Fault('conflict', `The filter matches ${found.length} calls, not ${expected}. Look at them again.`, {
    code: 'SELECTION_CHANGED',
    details: { expected: expected ?? null, found: found.length },
  })
}

/** The number of calls that match a filter, and their ids, are what the list of calls shows. */
function requireRead(caller: Caller): void {
  if (hasScope(caller, SCOPES.read)) return
  throw new Fault(
    'forbidden',
    `A filter needs the scope ${SCOPES.read}. Name the calls by their ids, or ask for the scope.`,
    {
      details: { required: [SCOPES.read], missing: [SCOPES.read] },
    },
  )
}

async function matching(parts: SelectParts, caller: Caller, { deadLetter, ...filter }: ActFilter): Promise<string[]> {
  const { tenant } = caller
  const wanted: CallFilter = { ...parseCallFilter(filter, caller), ...(deadLetter && { kinds: DEAD_KINDS }) }
  const ids: string[] = []
  let after: string | undefined
  do {
    const cursor = after !== undefined && { after }
    const page = await readPage(parts, { tenant, filter: wanted, limit: PAGE, ...cursor })
    const found = page.calls.map(({ id }) => id)
    const dealt = deadLetter ? await markedOf(parts.store.records, tenant, found) : new Set<string>()
    ids.push(...found.filter((id) => !dealt.has(id)))
    if (ids.length > MOST_SELECTED) throw tooMany()
    after = page.next
  } while (after !== undefined)
  return ids
}

function tooMany(): Fault {
  const message = `The filter matches more than ${MOST_SELECTED} calls. Narrow it, for example by time.`
  return new Fault('invalid-input', message, { code: 'SELECTION_TOO_LARGE', details: { most: MOST_SELECTED } })
}
