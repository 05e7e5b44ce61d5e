/** The filter of calls that several operations take, as its JSON Schema and as the store reads it. */
import type { Caller } from '../../../core/call/caller.ts'
import { STATES } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { CallFilterArgs } from '../../../core/filter/call-filter.ts'
import type { JsonObject } from '../../../core/json.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { CallFilter } from '../../../core/ports/call-list.ts'
import { COUNT, TEXT, TIME, timeOf } from '../shapes.ts'

export type { CallFilterArgs }

export const CALL_ID = {
  type: 'string',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
} satisfies JsonObject

export const CALL_FILTER = {
  state: { type: 'array', items: { enum: [...STATES] }, minItems: 1, maxItems: STATES.length },
  held: { type: 'boolean' },
  operation: TEXT,
  owner: TEXT,
  code: TEXT,
  sessionId: TEXT,
  parent: CALL_ID,
  key: TEXT,
  text: TEXT,
  minAttempts: COUNT,
  minMs: COUNT,
  since: TIME,
  until: TIME,
} satisfies Record<string, JsonObject>

export function parseCallFilter(args: CallFilterArgs, caller: Caller): CallFilter {
  const { state, held, operation, owner, code, sessionId, parent, key, text, minAttempts, minMs, since, until } = args
  if (text !== undefined && !hasScope(caller, SCOPES.payloads)) {
    throw new Fault(
      'forbidden',
      `The filter "text" searches arguments and results, which needs the scope ${SCOPES.payloads}. Leave it out, or ask for the scope.`,
      { details: { required: [SCOPES.payloads], missing: [SCOPES.payloads] } },
    )
  }
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
    ...(since !== undefined && { since: timeOf(since) }),
    ...(until !== undefined && { until: timeOf(until) }),
  }
}
