/** Lists the calls of all callers in the tenant, newest first. */
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import { LIMIT, record } from '../shapes.ts'
import { type CallSummary, SUMMARY_SCHEMA, summaryOf } from './call-view.ts'
import { CALL_FILTER, CALL_ID, type CallFilterArgs, parseCallFilter } from './filter.ts'
import { type CallsParts, readPage } from './parts.ts'
import { noteSearch } from './reveals.ts'

const NAME = 'v1:callplane.calls.list'

interface ListArgs extends CallFilterArgs {
  /** Only older calls than this one. */
  after?: string
  limit?: number
}

interface ListResult {
  calls: CallSummary[]
  /** Pass it as `after` to get the next page. Absent on the last page. */
  next?: string
  /** False if the search ended before the page was full, and there may be more calls. Go on with `next`. */
  complete: boolean
}

export function listCalls(parts: () => CallsParts) {
  return operation(NAME, {
    description:
      'Lists the calls of all callers, newest first, without arguments and results. A filter that finds few calls may end a page early: then "complete" is false, and "next" says where to go on.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<ListArgs>(record({ ...CALL_FILTER, after: CALL_ID, limit: LIMIT })),
    result: jsonSchema<ListResult>({
      type: 'object',
      required: ['calls', 'complete'],
      properties: {
        calls: { type: 'array', items: SUMMARY_SCHEMA },
        next: CALL_ID,
        complete: { type: 'boolean' },
      },
    }),
    run: async (args, ctx) => {
      const { after, limit = 50, ...given } = args
      const { caller } = ctx
      const all = parts()
      const filter = parseCallFilter(given, caller)
      await noteSearch(all, NAME, args, ctx)
      const page = await readPage(all, {
        ...{ tenant: caller.tenant, filter, limit },
        ...(after !== undefined && { after }),
      })
      return {
        calls: page.calls.map((call) => summaryOf(all.env, call)),
        ...(page.next !== undefined && { next: page.next }),
        complete: page.complete,
      }
    },
  })
}
