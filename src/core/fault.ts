/**
 * The only error class this code base throws. A fault has a kind, a message that says what to do next, and a retry hint.
 * Each protocol maps kinds to its own codes in one table.
 */
import type { JsonObject } from './json.ts'

/** A closed list: a new kind fails the build until every protocol maps it. */
export type FaultKind =
  | 'malformed' // the request cannot be understood
  | 'unknown-operation'
  | 'removed' // the operation existed and is past its sunset
  | 'unauthenticated'
  | 'forbidden'
  | 'requirements-missing' // an authorization, a secret or another requirement is missing
  | 'invalid-input' // arguments or media break the operation's schema
  | 'conflict' // a request id or an idempotency key used before for something else
  | 'not-found' // no such call, chunk or object, or it belongs to another caller
  | 'rate-limited'
  | 'overloaded' // the queue or the open calls are full
  | 'unavailable' // shutting down, or the storage cannot take it
  | 'domain' // a business failure that the handler reports
  | 'canceled'
  | 'timeout'
  | 'upstream' // something the operation depends on failed
  | 'policy-invalid' // the declaration or the call violates its rules
  | 'isolation-unavailable' // it needs a sandbox and none is available
  | 'secret-missing' // a secret it refers to is not available
  | 'credential-invalid' // the remote tool rejected our credential
  | 'credential-forbidden' // the remote tool accepted our credential but denies access
  | 'credential-expired'
  | 'approval-pending' // it waits for an approval
  | 'approval-denied'
  | 'approval-expired'
  | 'outcome-unknown' // cut off after it may have taken effect
  | 'internal'

/** A fault as stored and as sent between processes. */
export interface FaultRecord {
  kind: FaultKind
  code: string
  /** True if the application chose the code. Protocols then send it unchanged. */
  ownCode?: true
  message: string
  retryable: boolean
  retryAfterMs?: number
  /** Structured facts for the caller. */
  details?: JsonObject
  /** Additional text that helps a model correct its next call. */
  promptContent?: string
  /** For the developer of the caller; never shown to a model or an end user. */
  developerMessage?: string
  /** The message of the handler's exception, without known secrets. Never stored; only for protocols that show it. */
  exceptionText?: string
}

export interface FaultOptions {
  code?: string
  /** True if the application chose the code. The `Fault` class for applications sets it. */
  ownCode?: boolean
  retryable?: boolean
  retryAfterMs?: number
  details?: JsonObject
  promptContent?: string
  developerMessage?: string
  exceptionText?: string
  /** The server's own storage failed. A rerunnable call is then run again, whatever its retry rules say. */
  ofStorage?: boolean
  /** The original error, for the log only. */
  cause?: unknown
}

/** The default code of each kind, and whether an unchanged retry makes sense. */
const DEFAULTS: Record<FaultKind, { code: string; retryable: boolean }> = {
  malformed: { code: 'INVALID_REQUEST', retryable: false },
  'unknown-operation': { code: 'UNKNOWN_OPERATION', retryable: false },
  removed: { code: 'OPERATION_REMOVED', retryable: false },
  unauthenticated: { code: 'AUTH_REQUIRED', retryable: false },
  forbidden: { code: 'INSUFFICIENT_SCOPE', retryable: false },
  'requirements-missing': { code: 'REQUIREMENTS_MISSING', retryable: false },
  'invalid-input': { code: 'VALIDATION_ERROR', retryable: false },
  conflict: { code: 'CONFLICT', retryable: false },
  'not-found': { code: 'NOT_FOUND', retryable: false },
  'rate-limited': { code: 'RATE_LIMITED', retryable: true },
  overloaded: { code: 'OVERLOADED', retryable: true },
  unavailable: { code: 'UNAVAILABLE', retryable: true },
  domain: { code: 'FAILED', retryable: false },
  canceled: { code: 'CANCELED', retryable: false },
  timeout: { code: 'TIMEOUT', retryable: true },
  upstream: { code: 'UPSTREAM', retryable: true },
  'policy-invalid': { code: 'RUNTIME_POLICY_INVALID', retryable: false },
  'isolation-unavailable': { code: 'ISOLATION_UNAVAILABLE', retryable: false },
  'secret-missing': { code: 'SECRET_RESOLUTION_FAILED', retryable: false },
  'credential-invalid': { code: 'AUTH_INVALID', retryable: false },
  'credential-forbidden': { code: 'AUTH_FORBIDDEN', retryable: false },
  'credential-expired': { code: 'AUTH_EXPIRED', retryable: true },
  'approval-pending': { code: 'APPROVAL_PENDING', retryable: false },
  'approval-denied': { code: 'APPROVAL_DENIED', retryable: false },
  'approval-expired': { code: 'APPROVAL_TIMEOUT', retryable: false },
  'outcome-unknown': { code: 'OUTCOME_UNKNOWN', retryable: false },
  internal: { code: 'INTERNAL', retryable: false },
}

/** Rounds a delay to whole milliseconds, as stores and headers need it. `undefined` for an invalid delay. */
export function wholeDelay(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) return undefined
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)
}

/** Recognised by a mark, not by its class: an application may load a second copy of this package. */
const MARK = Symbol.for('callplane.fault')

export class Fault extends Error {
  readonly [MARK] = true
  override readonly name = 'Fault'
  readonly kind: FaultKind
  readonly code: string
  readonly ownCode: boolean
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly details: JsonObject | undefined
  readonly promptContent: string | undefined
  readonly developerMessage: string | undefined
  readonly exceptionText: string | undefined
  /** Not part of the record: only the process whose storage failed uses it. */
  readonly ofStorage: boolean

  constructor(kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.code = options.code ?? DEFAULTS[kind].code
    this.ownCode = options.ownCode ?? false
    this.retryable = options.retryable ?? DEFAULTS[kind].retryable
    this.retryAfterMs = wholeDelay(options.retryAfterMs)
    this.details = options.details
    this.promptContent = options.promptContent
    this.developerMessage = options.developerMessage
    this.exceptionText = options.exceptionText
    this.ofStorage = options.ofStorage ?? false
  }

  /**
   * Used at the edges only. The text of an unknown error may contain a password, so the error goes to the log as the
   * cause and the caller gets a general message.
   */
  static from(
    thrown: unknown,
    message = 'The operation failed for a reason it did not state; the server log has it.',
  ): Fault {
    return thrown instanceof Fault ? thrown : new Fault('internal', message, { cause: thrown })
  }

  static override [Symbol.hasInstance](value: unknown): value is Fault {
    return typeof value === 'object' && value !== null && MARK in value
  }

  static fromRecord(record: FaultRecord): Fault {
    return new Fault(record.kind, record.message, record)
  }

  toRecord(): FaultRecord {
    const { kind, code, message, retryable, retryAfterMs, details, promptContent, developerMessage, exceptionText } =
      this
    const record: FaultRecord = {
      kind,
      code,
      ...(this.ownCode && { ownCode: true }),
      message,
      retryable,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(details && { details }),
      ...(promptContent !== undefined && { promptContent }),
      ...(developerMessage !== undefined && { developerMessage }),
    }
    // Not enumerable, so it is not stored: only a waiting call in this process uses it.
    if (exceptionText !== undefined) Object.defineProperty(record, 'exceptionText', { value: exceptionText })
    return record
  }
}

/** The `Fault` class for applications. It marks the code as the application's own. */
export class ApplicationFault extends Fault {
  constructor(kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(kind, message, options.code === undefined ? options : { ...options, ownCode: true })
  }
}
