/** A change of a call or of an approval, as operators hear of it. */
import { faultIn, type Instance, shownStartsOf } from '../../core/call/instance.ts'
import { type CallFilter, keysLike, waitsForApproval } from '../../core/ports/call-list.ts'
import type { Approval } from '../wait/approvals.ts'

export type ChangeKind = 'call' | 'approval'

/** It is JSON, because nodes tell it to each other. */
export interface Noted {
  kind: ChangeKind
  tenant: string
  id: string
  operation: string
  state: string
  /** In Unix epoch milliseconds. */
  at: number
  owner: string
  held?: true
  code?: string
  sessionId?: string
  /** The id of the call that made it. */
  parent?: string
  key?: string
  starts?: number
  createdAt: number
  endedAt?: number
}

export function callChanged(instance: Instance, at: number): Noted {
  const { tenant, id, operation, state, owner, sessionId, idempotencyKey, createdAt, endedAt, extras } = instance
  const fault = faultIn(instance.outcome)
  return {
    kind: 'call',
    tenant,
    id,
    operation,
    state,
    at,
    owner,
    ...(waitsForApproval(instance) && { held: true }),
    ...(fault && { code: fault.code }),
    ...(sessionId !== undefined && { sessionId }),
    ...(extras?.calledBy !== undefined && { parent: extras.calledBy }),
    ...(idempotencyKey !== undefined && { key: idempotencyKey }),
    starts: shownStartsOf(instance),
    createdAt,
    ...(endedAt !== undefined && { endedAt }),
  }
}

export function approvalChanged({ tenant, id, operation, status, owner, createdAt }: Approval, at: number): Noted {
  return { kind: 'approval', tenant, id, operation, state: status, at, owner, createdAt }
}

/** True if the filter lets it through. The text of arguments is not compared: it is not kept here. */
export function passes(noted: Noted, filter: CallFilter): boolean {
  const { states, held, operation, owner, code, sessionId, parent, idempotencyKey, minStarts, minMs } = filter
  const { since, until } = filter
  const { createdAt, endedAt, at } = noted
  return (
    isOneOf(states, noted.state) &&
    (held === undefined || held === (noted.held === true)) &&
    (operation === undefined || isLike(noted.operation, operation)) &&
    isSame(owner, noted.owner) &&
    isSame(code, noted.code) &&
    isSame(sessionId, noted.sessionId) &&
    isSame(parent, noted.parent) &&
    isSame(idempotencyKey, noted.key) &&
    (minStarts === undefined || (noted.starts ?? 0) >= minStarts) &&
    (minMs === undefined || (endedAt ?? at) - createdAt >= minMs) &&
    (since === undefined || createdAt >= since) &&
    (until === undefined || createdAt < until)
  )
}

function isOneOf(wanted: readonly string[] | undefined, value: string): boolean {
  return wanted === undefined || wanted.includes(value)
}

function isSame(wanted: string | undefined, value: string | undefined): boolean {
  return wanted === undefined || wanted === value
}

function isLike(key: string, operation: string): boolean {
  const like = keysLike(operation)
  return 'exact' in like ? key === like.exact : key.startsWith(like.prefix)
}
