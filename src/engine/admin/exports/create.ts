/** Exports the result of a filter as a file: all pages, as JSON lines or as CSV. */
import type { Caller } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import { AUDIT_FILTER, type AuditFilter, type AuditParts, auditPage } from '../audit/list.ts'
import { type CallSummary, summaryOf } from '../calls/call-view.ts'
import { CALL_FILTER, type CallFilterArgs, parseCallFilter } from '../calls/filter.ts'
import { readPage } from '../calls/parts.ts'
import { noteSearch } from '../calls/reveals.ts'
import { type DeadLettersParts, deadLetters } from '../dead-letters/list.ts'
import { COUNT, record } from '../shapes.ts'
import { csvLine } from './csv.ts'

export type ExportParts = DeadLettersParts & AuditParts

type What = 'calls' | 'deadletters' | 'audit'

interface ExportArgs {
  what: What
  filter?: CallFilterArgs & AuditFilter
  format: 'jsonl' | 'csv'
}

interface Exported {
  rows: number
}

const PAGE = 500
const MIME = { jsonl: 'application/x-ndjson', csv: 'text/csv; charset=utf-8' } as const

const CALL_COLUMNS = [
  'id',
  'requestId',
  'operation',
  'version',
  'owner',
  'userId',
  'state',
  'held',
  'kind',
  'code',
  'attempts',
  'createdAt',
  'endedAt',
  'durationMs',
  'expiresAt',
  'parent',
  'replayOf',
] as const satisfies readonly (keyof CallSummary)[]

const AUDIT_COLUMNS = [
  'id',
  'requestId',
  'operation',
  'owner',
  'verdict',
  'rule',
  'approvalId',
  'backend',
  'attempts',
  'outcome',
  'code',
  'startedAt',
  'endedAt',
  'fingerprint',
  'about',
] as const

const COLUMNS: Record<What, readonly string[]> = {
  calls: CALL_COLUMNS,
  deadletters: CALL_COLUMNS,
  audit: AUDIT_COLUMNS,
}

const NAME = 'v1:callplane.exports.create'

export function createExport(parts: () => ExportParts) {
  return operation(NAME, {
    description: 'Exports calls, dead letters or the audit trail as JSON lines or CSV. The result is read in chunks.',
    internal: true,
    scopes: [SCOPES.read],
    chunked: true,
    args: jsonSchema<ExportArgs>(
      record(
        {
          what: { enum: ['calls', 'deadletters', 'audit'] },
          filter: record({ ...AUDIT_FILTER, ...CALL_FILTER }),
          format: { enum: ['jsonl', 'csv'] },
        },
        ['what', 'format'],
      ),
    ),
    result: jsonSchema<Exported>({ type: 'object', required: ['rows'], properties: { rows: COUNT } }),
    run: (args, ctx) => {
      requireFit(args, ctx.caller)
      return ctx.chunks(linesOf(parts(), args, ctx), { mimeType: MIME[args.format] })
    },
  })
}

/** A filter that the list does not have would be ignored, and the file would have more than was asked for. */
function requireFit({ what, filter = {} }: ExportArgs, caller: Caller): void {
  const known: Record<string, JsonObject> = what === 'audit' ? AUDIT_FILTER : CALL_FILTER
  const other = Object.keys(filter).find((name) => !Object.hasOwn(known, name))
  if (other !== undefined) {
    throw new Fault('invalid-input', `"${other}" is no filter of ${what}. Use: ${Object.keys(known).join(', ')}.`)
  }
  // Throws if the caller may not search, before the search is noted.
  if (what !== 'audit') parseCallFilter(filter, caller)
  if (what !== 'audit' || hasScope(caller, SCOPES.audit)) return
  throw new Fault('forbidden', `The audit trail needs the scope ${SCOPES.audit}.`, {
    details: { required: [SCOPES.audit], missing: [SCOPES.audit] },
  })
}

/** The calls of the moment at which the export began. Those that are made meanwhile are newer than the first page. */
async function* linesOf(
  parts: ExportParts,
  { what, filter = {}, format }: ExportArgs,
  ctx: HandlerContext,
): AsyncGenerator<string, Exported> {
  const { caller, signal } = ctx
  const columns = COLUMNS[what]
  await noteSearch(parts, NAME, filter, ctx)
  if (format === 'csv') yield csvLine(columns)
  let rows = 0
  let after: string | undefined
  do {
    signal.throwIfAborted()
    const page = await pageOf(parts, caller, what, filter, after)
    for (const row of page.rows as readonly Record<string, unknown>[]) {
      rows++
      yield format === 'csv' ? csvLine(columns.map((name) => row[name])) : `${JSON.stringify(row)}\n`
    }
    after = page.next
  } while (after !== undefined)
  return { rows }
}

async function pageOf(
  parts: ExportParts,
  caller: Caller,
  what: What,
  filter: CallFilterArgs & AuditFilter,
  after: string | undefined,
): Promise<{ rows: readonly object[]; next?: string | undefined }> {
  if (what === 'audit') {
    const { entries, next } = await auditPage(parts, caller, filter, PAGE, after)
    return { rows: entries, next }
  }
  const { calls, next } =
    what === 'calls'
      ? await readPage(parts, {
          tenant: caller.tenant,
          filter: parseCallFilter(filter, caller),
          limit: PAGE,
          ...(after !== undefined && { after }),
        })
      : await deadLetters(parts, caller, filter, PAGE, after)
  return { rows: calls.map((call) => summaryOf(parts.env, call)), next }
}
