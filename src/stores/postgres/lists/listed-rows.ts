/** The rows of a list: calls without their arguments and outcomes. */
import type { State } from '../../../core/call/state.ts'
import type { FaultKind } from '../../../core/fault.ts'
import type { ListedCall } from '../../../core/ports/call-list.ts'
import { BY_LETTER, type CallRow } from '../calls/rows.ts'
import { decodeText } from '../sql/plain-text.ts'

export interface ListedRow
  extends Pick<
    CallRow,
    | 'id'
    | 'tenant'
    | 'owner'
    | 'caller'
    | 'request_id'
    | 'operation'
    | 'fixed'
    | 'state'
    | 'attempt'
    | 'settled'
    | 'failures'
    | 'created_at'
    | 'expires_at'
    | 'ended_at'
    | 'extras'
    | 'progress'
    | 'keyed'
  > {
  fault_kind: string | null
  fault_code: string | null
}

/** In the statement, the table of calls is `c` and the table of callers is `k`. */
export const LISTED_COLUMNS = `c.id, k.tenant, k.owner, k.caller, c.request_id, c.operation, c.fixed, c.state, c.attempt,
  c.settled, c.failures, c.created_at, c.expires_at, c.ended_at, c.extras, c.progress,
  (c.key_hash IS NOT NULL) AS keyed, c.fault_kind, c.fault_code`

export function decodeListed(row: ListedRow): ListedCall {
  type Fixed = Pick<ListedCall, 'sessionId' | 'parentId' | 'idempotencyKey'>
  const { sessionId, parentId, idempotencyKey } = (row.fixed === null ? {} : JSON.parse(row.fixed)) as Fixed
  return {
    id: row.id,
    tenant: decodeText(row.tenant),
    owner: decodeText(row.owner),
    caller: JSON.parse(row.caller),
    requestId: decodeText(row.request_id),
    ...(sessionId !== undefined && { sessionId }),
    ...(parentId !== undefined && { parentId }),
    ...(idempotencyKey !== undefined && row.keyed && { idempotencyKey }),
    operation: decodeText(row.operation),
    state: BY_LETTER.get(row.state) as State,
    attempt: row.attempt,
    settled: row.settled,
    failures: row.failures,
    ...(row.progress !== null && { progress: JSON.parse(row.progress) }),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.extras !== null && { extras: JSON.parse(row.extras) }),
    ...(row.fault_kind !== null && {
      fault: { kind: row.fault_kind as FaultKind, code: decodeText(row.fault_code ?? '') },
    }),
  }
}
