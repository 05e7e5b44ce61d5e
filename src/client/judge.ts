/** What a response means: a fault, a reason to come back, or something that cannot be true. */
import { CallFault, type Outcome } from './fault.ts'
import type { CallContext, Envelope } from './options.ts'
import type { Received } from './transport.ts'

/** What is known of a call: all of it, or the id of a resumed one. */
export interface Known {
  readonly operation: string
  readonly context: Partial<CallContext>
}

const RANKS: Readonly<Record<string, number>> = { accepted: 0, pending: 1, streaming: 2, complete: 3, error: 3 }
/** Clocks differ. A call is given up this long after its retention. */
const EXPIRY_LEEWAY_MS = 300_000

export function isOver({ state }: Envelope): boolean {
  return RANKS[state] === 3
}

/** The server refused the request for now. */
export function asksToComeBack({ envelope, status }: Received): boolean {
  return envelope.state === 'error' && (status === 429 || status === 503)
}

/** The network failed, or a proxy answered that it cannot reach the server. */
export function isLost(thrown: unknown): boolean {
  if (!(thrown instanceof CallFault)) return false
  const { code, status = 0 } = thrown
  return code === 'UNREACHABLE' || (code === 'NOT_OPENCALL' && status >= 502 && status <= 504)
}

/** Adds the call to a fault of the transport or of a deadline, which do not know it. */
export function withCall(thrown: unknown, { operation, context }: Known): unknown {
  if (thrown instanceof CallFault && thrown.requestId === undefined)
    Object.assign(thrown, { operation, requestId: context.requestId, idempotencyKey: context.idempotencyKey })
  return thrown
}

/** The fault that a later response is, or why it cannot be true. */
export function problemOf(before: Envelope, received: Received, nowMs: number): CallFault | undefined {
  const { envelope, status = 200 } = received
  const { state, requestId, location, expiresAt } = envelope
  // A status of 4xx or 5xx refuses the poll, and says nothing of the call.
  if (state === 'error') return toFault(received, status >= 400 ? 'unknown' : 'failed')
  if (requestId !== before.requestId) return wrongReply(before.requestId, envelope)
  const rank = RANKS[state]
  if (rank === undefined && !location)
    return new CallFault('UNKNOWN_STATE', `Unknown state "${state}". Update the client.`)
  if (rank !== undefined && rank < (RANKS[before.state] ?? 0))
    return new CallFault('STATE_WENT_BACK', `The server said "${before.state}", then "${state}".`)
  if (rank !== 3 && expiresAt && expiresAt * 1000 + EXPIRY_LEEWAY_MS < nowMs)
    return new CallFault('EXPIRED', 'The call is past its retention.')
  return undefined
}

/** The fault of an envelope with the state `error`, in response to the call itself. */
export function faultOf(received: Received): CallFault {
  const { status = 200 } = received
  return toFault(received, (status >= 400 && status < 500) || status === 503 ? 'refused' : 'failed')
}

function toFault({ envelope, status, retryAfterMs }: Received, outcome: Outcome): CallFault {
  const { code = 'UNKNOWN', message = 'No reason given.', cause: details } = envelope.error ?? {}
  return new CallFault(code, message, {
    outcome: code === 'OUTCOME_UNKNOWN' ? 'unknown' : outcome,
    status,
    retryAfterMs,
    details,
  })
}

export function wrongReply(requestId: string, envelope: Envelope): CallFault {
  return new CallFault('WRONG_REPLY', `The server answered call ${envelope.requestId} instead of ${requestId}.`)
}
