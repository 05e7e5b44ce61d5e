/**
 * The one kind of failure this code base throws. A fault says what kind of thing went wrong, what a person can do
 * about it and whether trying again makes sense; each protocol turns kinds into its own codes in one table.
 */
import type { JsonObject } from './json.ts'

/** Closed on purpose: a new kind fails the build in every protocol until its answer is thought of. */
export type FaultKind =
  | 'malformed' // the request cannot be understood
  | 'unknown-operation'
  | 'removed' // the operation existed and is past its sunset
  | 'unauthenticated'
  | 'forbidden'
  | 'requirements-missing' // the person it acts for has not authorized it, or the call lacks what it must bring
  | 'invalid-input' // arguments or media break the operation's schema
  | 'conflict' // a request id or an idempotency key used before for something else
  | 'not-found' // no such call, chunk or object, or not this caller's
  | 'rate-limited'
  | 'overloaded' // the queue or the open calls are full
  | 'unavailable' // shutting down, or the storage cannot take it
  | 'domain' // the handler says so: a business outcome
  | 'canceled'
  | 'timeout'
  | 'upstream' // something the operation depends on failed
  | 'policy-invalid' // the declaration, or what the call asks for, is against the rules it runs under
  | 'isolation-unavailable' // it must run in a sandbox and there is none
  | 'secret-missing' // a secret it refers to cannot be had
  | 'credential-invalid' // what we show to a remote tool was not accepted
  | 'credential-forbidden' // it was, and does not suffice
  | 'credential-expired'
  | 'approval-pending' // somebody has to approve it first
  | 'approval-denied'
  | 'approval-expired'
  | 'outcome-unknown' // cut off after it may have taken effect
  | 'internal'

/** A fault as it is stored and sent between processes. */
export interface FaultRecord {
  kind: FaultKind
  code: string
  /** The code is the application's, and protocols leave it as it is. */
  ownCode?: true
  message: string
  retryable: boolean
  retryAfterMs?: number
  /** Structured facts for the caller. */
  details?: JsonObject
  /** What a model should read besides the message, to mend its next call. */
  promptContent?: string
  /** For the developer of the caller; never shown to a model or an end user. */
  developerMessage?: string
  /** What a handler's exception said, without known secrets. For a protocol whose text has it shown; never stored. */
  exceptionText?: string
}

export interface FaultOptions {
  code?: string
  /** Whether the code is the application's; set by the `Fault` that applications throw. */
  ownCode?: boolean
  retryable?: boolean
  retryAfterMs?: number
  details?: JsonObject
  promptContent?: string
  developerMessage?: string
  exceptionText?: string
  /** The server's own storage failed: a call that can be run again is, whatever its operation says about retries. */
  ofStorage?: boolean
  /** What was thrown underneath: for the log only. */
  cause?: unknown
}

/** The code a kind has when whoever throws it names none, and whether it is worth trying again as it is. */
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

/** Stores and headers take whole numbers only, and a tool or a handler may say anything. Nothing for what is no delay. */
export function wholeDelay(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) return undefined
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)
}

/** Known by a mark, not by its class: an application may have a copy of this package besides the one that serves it. */
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
  /** Not in the record: it is for the process whose storage failed. */
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
   * Stands at the edges only. An unknown error's own text may hold anything, a password in a connection string
   * included, so it goes to the log as the cause and the caller learns that the operation failed.
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
    // Kept out of whatever is made of the record's JSON: it is for whoever waits in this process, not for the store.
    if (exceptionText !== undefined) Object.defineProperty(record, 'exceptionText', { value: exceptionText })
    return record
  }
}

/** The `Fault` of applications: a code that they give it is theirs. Ours are known by being made with the other class. */
export class ApplicationFault extends Fault {
  constructor(kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(kind, message, options.code === undefined ? options : { ...options, ownCode: true })
  }
}
