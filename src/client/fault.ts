/** The error of every failed call. It tells whether the operation may have run, so that a program knows what to do next. */
import type { JsonObject } from '../core/json.ts'

/** Codes that the client itself sets. All others come from the server. */
export type ClientCode =
  | 'UNREACHABLE' // no response, or the connection broke
  | 'TIMED_OUT' // the deadline of the call passed
  | 'ABORTED' // the caller's signal
  | 'NOT_OPENCALL' // the response is not an OpenCALL envelope
  | 'RESPONSE_TOO_LARGE'
  | 'STATE_WENT_BACK'
  | 'UNKNOWN_STATE'
  | 'WRONG_REPLY' // the response belongs to another call
  | 'EXPIRED' // the call is older than its retention
  | 'UNSAFE_LOCATION'
  | 'TOO_MANY_REDIRECTS'
  | 'RESULT_UNREADABLE' // the address of the result cannot be read
  | 'DAMAGED_RESULT' // a checksum, a length or the chain is wrong
  | 'STREAM_BROKEN'
  | 'STREAM_REFUSED'
  | 'DAMAGED_FRAME'
  | 'PACKAGE_MISSING' // that of a transport
  | 'NEEDS_HTTP' // a file cannot be sent in a message
  | 'NOT_A_STREAM'
  | 'IS_A_STREAM'

/**
 * `refused`: it did not run. `failed`: it ran and ended in an error. `unknown`: it may have run; a repeat with the same
 * idempotency key is safe.
 */
export type Outcome = 'refused' | 'failed' | 'unknown'

/** What is known of a fault and its call. */
export interface FaultFacts {
  /** Default: `unknown`. */
  outcome?: Outcome
  operation?: string | undefined
  requestId?: string | undefined
  idempotencyKey?: string | undefined
  status?: number | undefined
  retryAfterMs?: number | undefined
  details?: JsonObject | undefined
  cause?: unknown
}

/** Recognised by a mark, not by its class: a bundle may hold the client twice. */
const MARK = Symbol.for('callplane.call-fault')

export class CallFault<Code extends string = string> extends Error {
  readonly [MARK] = true
  override readonly name = 'CallFault'
  readonly code: Code
  readonly outcome: Outcome = 'unknown'
  readonly operation: string | undefined
  /** With it the call can be resumed. */
  readonly requestId: string | undefined
  readonly idempotencyKey: string | undefined
  /** The HTTP status, if a response came over HTTP. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** The `cause` of the server's error. */
  readonly details: JsonObject | undefined

  constructor(code: Code, message: string, facts: FaultFacts = {}) {
    super(message)
    this.code = code
    Object.assign(this, facts)
  }

  /** The server says that an unchanged repeat may succeed. */
  get retryable(): boolean {
    return this.details?.retryable === true
  }
}

/** `isFault(error, 'DOORBELL_NOT_FOUND')`; without codes, true for every fault of a call. */
export function isFault<const Code extends string = string>(
  error: unknown,
  ...codes: readonly Code[]
): error is CallFault<Code> {
  if (!(error instanceof Error) || !(MARK in error)) return false
  return codes.length === 0 || codes.includes((error as CallFault<Code>).code)
}

export type Settled<Result, Code extends string = string> =
  | { readonly ok: true; readonly result: Result; readonly fault?: undefined }
  | { readonly ok: false; readonly fault: CallFault<Code>; readonly result?: undefined }

declare const codes: unique symbol

/** A promise that knows the codes of its faults. */
export interface MayFault<Code extends string> {
  readonly [codes]?: Code
}

/** The outcome of a call as a union. Other errors, such as those of a programmer, are still thrown. */
export async function safe<Result, Code extends string = string>(
  call: PromiseLike<Result> & MayFault<Code>,
): Promise<Settled<Result, Code>> {
  try {
    return { ok: true, result: await call }
  } catch (thrown) {
    if (isFault(thrown)) return { ok: false, fault: thrown as CallFault<Code> }
    throw thrown
  }
}
