/** The audit trail for operators: who called what, with which outcome. A search for rare entries is bounded. */
import type { Caller } from '../../../core/call/caller.ts'
import { idAt } from '../../../core/call/id-time.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { AuditEntry, AuditMatch, AuditTrail } from '../../../core/ports/store.ts'
import { ID, LIMIT, record, TEXT, TIME, timeOf, timeText } from '../shapes.ts'

export interface AuditParts {
  store: { readonly audit: Pick<AuditTrail, 'list' | 'horizon'> }
}

export interface AuditFilter extends AuditMatch {
  /** As in the filter of calls. */
  operation?: string
  owner?: string
  /** When the call was made. */
  since?: string
  until?: string
}

interface AuditPage {
  entries: AuditView[]
  /** Pass it as `before` to get the next page. Absent on the last page. */
  next?: string
  /** False if the search ended before the first entry. Go on with `next`. */
  complete: boolean
}

export type AuditView = Omit<AuditEntry, 'tenant' | 'startedAt' | 'endedAt'> & { startedAt: string; endedAt: string }

/** About 20 ms of CPU time in SQLite. */
const MOST_READ = 10_000

export const AUDIT_FILTER = {
  operation: TEXT,
  owner: TEXT,
  since: TIME,
  until: TIME,
  verdict: { enum: ['allow', 'deny', 'hold'] },
  outcome: TEXT,
  code: TEXT,
  rule: TEXT,
  requestId: TEXT,
}

export function listAudit(parts: () => AuditParts) {
  return operation('v1:callplane.audit.list', {
    description: 'Lists who called which operation, when and with which outcome, newest first.',
    internal: true,
    scopes: [SCOPES.audit],
    args: jsonSchema<AuditFilter & { before?: string; limit?: number }>(
      record({ ...AUDIT_FILTER, before: ID, limit: LIMIT }),
    ),
    result: jsonSchema<AuditPage>({
      type: 'object',
      required: ['entries', 'complete'],
      properties: { entries: { type: 'array', items: { type: 'object' } }, next: ID, complete: { type: 'boolean' } },
    }),
    run: ({ limit = 50, before, ...filter }, { caller }) => auditPage(parts(), caller, filter, limit, before),
  })
}

export async function auditPage(
  { store }: AuditParts,
  { tenant }: Pick<Caller, 'tenant'>,
  { since, until, operation, owner, ...matching }: AuditFilter,
  limit: number,
  after?: string,
): Promise<AuditPage> {
  const before = lower(after, until === undefined ? undefined : idAt(timeOf(until)))
  const first = since === undefined ? undefined : idAt(timeOf(since))
  const isSearch = [operation, ...Object.values(matching)].some((value) => value !== undefined)
  const place = { tenant, ...(before !== undefined && { before }) }
  const horizon = isSearch ? await store.audit.horizon(place, MOST_READ) : undefined
  const stops = horizon !== undefined && (first === undefined || horizon > first)
  const from = stops ? horizon : first
  const found = await store.audit.list({
    ...place,
    ...(operation !== undefined && { operation }),
    ...(owner !== undefined && { owner }),
    ...(from !== undefined && { from }),
    ...(isSearch && { matching }),
    limit,
  })
  const last = found.at(-1)
  const next = found.length === limit ? last?.id : stops ? horizon : undefined
  return { entries: found.map(viewOf), ...(next !== undefined && { next }), complete: found.length === limit || !stops }
}

function lower(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}

function viewOf({ tenant: _own, startedAt, endedAt, ...entry }: AuditEntry): AuditView {
  return { ...entry, startedAt: timeText(startedAt), endedAt: timeText(endedAt) }
}
