/**
 * The filter of a list as one condition with a parameter for each field, so that all filters share a few statements. In
 * the statement, the table of calls is `c` and the table of callers is `k`.
 */
import { type CallFilter, keysLike } from '../../../core/ports/call-list.ts'
import { STARTS } from '../calls/past.ts'
import { ENDED, letterOf, OPEN } from '../calls/rows.ts'
import { encodeArray } from '../sql/arrays.ts'
import { isId } from '../sql/ids.ts'
import { encodeText } from '../sql/plain-text.ts'

/** A range of ids: from `from`, below `below`. */
export interface Range {
  below: string
  from: string
}

const HELD = `(c.held AND c.state IN (${OPEN}) AND ${STARTS} = 0)`

/** A call that is still accepted may wait for a slot of the node that took it. */
const SHOWN_STARTS = `CASE c.state WHEN '${letterOf('accepted')}' THEN 0 ELSE ${STARTS} END`

/** `values` has the parameters in the same order. The first two are the range of ids, and the third is the tenant. */
export const CONDITION = [
  'c.id < $1::uuid AND c.id >= $2::uuid',
  'k.tenant = $3',
  `(c.state IN (${OPEN}) OR c.state IN (${ENDED}) AND c.keep_until > $4::bigint)`,
  '($5::text IS NULL OR strpos($5, c.state::text) > 0)',
  `($6::boolean IS NULL OR ${HELD} = $6)`,
  '($7::text IS NULL OR c.operation = $7)',
  '($8::text IS NULL OR starts_with(c.operation, $8))',
  '($9::text IS NULL OR k.owner = $9)',
  '($10::text IS NULL OR c.fault_code = $10)',
  '($11::text[] IS NULL OR c.fault_kind = ANY ($11))',
  '($12::text IS NULL OR strpos(c.fixed, $12) > 0)',
  '($13::text IS NULL OR c.key_hash IS NOT NULL AND strpos(c.fixed, $13) > 0)',
  '($14::uuid IS NULL OR c.called_by = $14)',
  '($15::uuid IS NULL OR c.replay_of = $15)',
  `($16::integer IS NULL OR ${SHOWN_STARTS} >= $16)`,
  '($17::bigint IS NULL OR coalesce(c.ended_at, $4::bigint) - c.created_at >= $17)',
  '($18::uuid[] IS NULL OR c.id = ANY ($18))',
].join(' AND ')

/** The number of parameters in `CONDITION`. */
export const PARAMETERS = 18

export interface Filtered {
  /** False if no call can match. */
  possible: boolean
  /** `ids`: only these calls. */
  values(range: Range, ids?: readonly string[]): unknown[]
}

const MAX_INTEGER = 2 ** 31 - 1

export function filtered(tenant: string, filter: CallFilter, now: number): Filtered {
  const { states, held, operation, owner, code, kinds, sessionId, idempotencyKey, parent, replayOf } = filter
  const keys = operation === undefined ? undefined : keysLike(operation)
  const possible = [parent, replayOf].every((id) => id === undefined || isId(id))
  const rest = [
    now,
    states ? states.map(letterOf).join('') : null,
    held ?? null,
    keys && 'exact' in keys ? encodeText(keys.exact) : null,
    keys && 'prefix' in keys ? encodeText(keys.prefix) : null,
    owner === undefined ? null : encodeText(owner),
    code === undefined ? null : encodeText(code),
    kinds ? encodeArray('text', kinds) : null,
    sessionId === undefined ? null : fieldOf('sessionId', sessionId),
    idempotencyKey === undefined ? null : fieldOf('idempotencyKey', idempotencyKey),
    parent ?? null,
    replayOf ?? null,
    filter.minStarts === undefined ? null : Math.min(filter.minStarts, MAX_INTEGER),
    filter.minMs ?? null,
  ]
  return {
    possible,
    values: ({ below, from }, ids) => [below, from, encodeText(tenant), ...rest, ids ? encodeArray('uuid', ids) : null],
  }
}

/** A field in the JSON text of `fixed`. Inside another text of it, the quotes would have backslashes before them. */
function fieldOf(name: string, value: string): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}
