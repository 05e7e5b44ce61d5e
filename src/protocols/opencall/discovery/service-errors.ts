/** The errors that any operation of the server can have: every code with its status, its meaning and a remedy. */
import { Fault, type FaultKind } from '../../../core/fault.ts'
import { encodeFault, statusOf } from '../faults.ts'
import type { ErrorEntry } from '../wire.ts'
import { CODES } from './fault-codes.ts'
import { KINDS } from './fault-kinds.ts'

/** Refusals of HTTP, which are not faults. */
export const OF_HTTP: readonly ErrorEntry[] = [
  ofHttp(405, 'METHOD_NOT_ALLOWED', 'The path does not have this method.', 'Use a method of the header Allow.'),
  ofHttp(408, 'REQUEST_TIMEOUT', 'The request did not arrive in time.', 'Send it again.', true),
  ofHttp(
    412,
    'PRECONDITION_FAILED',
    'The object is not the one that the condition names.',
    'Read it without the condition.',
  ),
  ofHttp(416, 'RANGE_NOT_SATISFIABLE', 'The object is shorter than the range.', 'Ask for a range within the object.'),
  ofHttp(431, 'HEADERS_TOO_LARGE', 'The request line and the headers are too large.', 'Send fewer or shorter headers.'),
]

export function serviceErrors(): ErrorEntry[] {
  const kinds = Object.entries(KINDS).map(([kind, [message, remedy]]) => entryOf(kind as FaultKind, message, remedy))
  const codes = Object.entries(CODES).map(([code, [kind, message, remedy]]) => entryOf(kind, message, remedy, code))
  return [...kinds, ...codes, ...OF_HTTP].sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** Goes through the table of faults, so that the code and the status are those of a real failure. */
function entryOf(kind: FaultKind, message: string, remedy: string, code?: string): ErrorEntry {
  const fault = new Fault(kind, message, code === undefined ? {} : { code })
  const httpStatus = statusOf(fault)
  return {
    code: encodeFault(fault).code,
    httpStatus,
    ...(httpStatus < 300 && { state: 'error' as const }),
    message,
    remedy,
    retryable: fault.retryable,
  }
}

function ofHttp(httpStatus: number, code: string, message: string, remedy: string, retryable = false): ErrorEntry {
  return { code, httpStatus, message, remedy, retryable }
}
