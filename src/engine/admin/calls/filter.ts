/** The filter of operators' lists: as they send it, and as the store takes it. */
import type { Caller } from '../../../core/call/caller.ts'
import { STATES, type State } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { CallFilter as StoreFilter } from '../../../core/ports/call-list.ts'
import { COUNT, ID, TEXT, TIME } from '../shapes.ts'

export interface CallFilter {
  state?: State[]
  /** Waits for an approval. */
  held?: boolean
  /** A name, or a prefix with `*` at its end. */
  operation?: string
  owner?: string
  code?: string
  sessionId?: string
  /** The id of the call that made it. */
  parent?: string
  /** The idempotency key. */
  key?: string
  /** In the arguments or the outcome. */
  text?: string
  minAttempts?: number
  minMs?: number
  since?: string
  until?: string
}

/** The members of a filter, for the schema of an operation's arguments. */
export const CALL_FILTER = {
  state: { type: 'array', minItems: 1, maxItems: STATES.length, uniqueItems: true, items: { enum: [...STATES] } },
  held: { type: 'boolean' },
  operation: TEXT,
  owner: TEXT,
  code: TEXT,
  sessionId: ID,
  parent: ID,
  key: { type: 'string', minLength: 1, maxLength: 256 },
  text: { type: 'string', minLength: 1, maxLength: 200 },
  minAttempts: COUNT,
  minMs: COUNT,
  since: TIME,
  until: TIME,
} satisfies Record<string, JsonObject>

export function storeFilter(caller: Caller, filter: CallFilter): StoreFilter {
  const { state, held, operation, owner, code, sessionId, parent, key, text, minAttempts, minMs } = filter
  if (text !== undefined) requirePayloads(caller)
  const since = filter.since === undefined ? undefined : Date.parse(filter.since)
  const until = filter.until === undefined ? undefined : Date.parse(filter.until)
  return {
    ...(state && { states: state }),
    ...(held !== undefined && { held }),
    ...(operation !== undefined && { operation }),
    ...(owner !== undefined && { owner }),
    ...(code !== undefined && { code }),
    ...(sessionId !== undefined && { sessionId }),
    ...(parent !== undefined && { parent }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(text !== undefined && { text }),
    ...(minAttempts !== undefined && { minStarts: minAttempts }),
    ...(minMs !== undefined && { minMs }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

/** A search in the arguments tells what they contain. */
function requirePayloads(caller: Caller): void {
  if (hasScope(caller, SCOPES.payloads)) return
  const message = `A filter with "text" needs the scope ${SCOPES.payloads}. Leave it out, or use a credential that grants it.`
  throw new Fault('forbidden', message, { details: { required: [SCOPES.payloads], missing: [SCOPES.payloads] } })
}
