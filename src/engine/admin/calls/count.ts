/** Counts calls, and the calls with each value of a field. */
import { operation } from '../../../core/operation/define.ts'
import { nameIn } from '../../../core/operation/names.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { CallCount, CallFilter, CountBy, ListedCall } from '../../../core/ports/call-list.ts'
import { COUNT, MAX_PAGE, record } from '../shapes.ts'
import { CALL_FILTER, type CallFilterArgs, parseCallFilter } from './filter.ts'
import { type CallsParts, readPage, scanOf } from './parts.ts'
import { noteSearch } from './reveals.ts'

const NAME = 'v1:callplane.calls.count'

const BY = ['state', 'operation', 'code', 'owner'] as const satisfies readonly CountBy[]
/** A count looks at more calls than a page. */
const TIMES = 2

interface CountResult {
  total: number
  /** True if there may be more: the count ended early. */
  capped: boolean
  groups: { value: string; count: number }[]
}

export function countCalls(parts: () => CallsParts) {
  return operation(NAME, {
    description:
      'Counts the calls that a filter finds. If there are very many, "capped" is true, and the newest count.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<CallFilterArgs & { by?: CountBy }>(record({ ...CALL_FILTER, by: { enum: [...BY] } })),
    result: jsonSchema<CountResult>({
      type: 'object',
      required: ['total', 'capped', 'groups'],
      properties: {
        total: COUNT,
        capped: { type: 'boolean' },
        groups: {
          type: 'array',
          items: {
            type: 'object',
            required: ['value', 'count'],
            properties: { value: { type: 'string' }, count: COUNT },
          },
        },
      },
    }),
    run: async (args, ctx) => {
      const { by, ...given } = args
      const all = parts()
      const filter = parseCallFilter(given, ctx.caller)
      await noteSearch(all, NAME, args, ctx)
      const { total, capped, groups } = await countMatching(all, ctx.caller.tenant, filter, by)
      return { total, capped, groups: [...groups] }
    },
  })
}

export async function countMatching(
  parts: CallsParts,
  tenant: string,
  filter: CallFilter,
  by?: CountBy,
): Promise<CallCount> {
  if (filter.text !== undefined) return countText(parts, tenant, filter, by)
  return parts.store.calls.count({ tenant, filter, ...(by && { by }), scan: scanOf(filter, TIMES) })
}

/** A text counts only where an operator may see it, so each call is looked at. */
async function countText(parts: CallsParts, tenant: string, filter: CallFilter, by?: CountBy): Promise<CallCount> {
  const { calls, next } = await readPage(parts, { tenant, filter, limit: MAX_PAGE })
  const groups = new Map<string, number>()
  for (const call of calls) {
    const value = by && VALUES[by](call)
    if (value !== undefined) groups.set(value, (groups.get(value) ?? 0) + 1)
  }
  const sorted = [...groups].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count)
  return { total: calls.length, capped: next !== undefined, groups: sorted }
}

const VALUES: Record<CountBy, (call: ListedCall) => string | undefined> = {
  state: ({ state }) => state,
  operation: ({ operation }) => nameIn(operation),
  code: ({ fault }) => fault?.code,
  owner: ({ owner }) => owner,
}
