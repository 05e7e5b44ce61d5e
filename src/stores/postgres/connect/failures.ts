/**
 * What went wrong with a statement, by SQLSTATE, and the faults that callers get. Callers read the messages of a failed
 * write, so these name no server. The operator reads the messages of a failed start, so these do.
 */
import { Fault } from '../../../core/fault.ts'

/** No connection could be opened, so nothing was sent. */
export class ConnectFailed extends Error {
  constructor(cause: unknown) {
    super('No connection to Postgres could be opened.', { cause })
  }
}

/** The statement did nothing, and the reason is gone: it can be sent again. */
export class SendAgain extends Error {}

/** When a caller should try again: a failover or a restart takes seconds. */
const RETRY_AFTER_MS = 2_000

export type Trouble =
  /** The connection ended before the answer came. The statement may have been committed. */
  | 'lost'
  /** Nothing was sent. */
  | 'unreachable'
  /** The server rolled back. The same statement can succeed. */
  | 'passing'
  /** The server cannot write now, for example because its disk is full. */
  | 'storage'
  /** The statement or one of its values is wrong. */
  | 'invalid'

export function troubleOf(thrown: unknown): Trouble {
  if (thrown instanceof ConnectFailed) return 'unreachable'
  if (thrown instanceof SendAgain) return 'passing'
  const state = sqlState(thrown)
  if (state === undefined) return isProgramError(thrown) ? 'invalid' : 'lost'
  // 57P01: the server ends the connection. The statement may have been committed before.
  if (state.startsWith('08') || state.startsWith('57P')) return 'lost'
  // Deadlocks, serialization failures, lock and statement timeouts.
  if (state.startsWith('40') || state === '55P03' || state === '57014') return 'passing'
  if (isMissingTable(thrown)) return 'passing'
  // 25006: the server became read-only, as a former primary does. 53: out of resources. 58: the operating system.
  if (state === '25006' || /^5[38]/.test(state)) return 'storage'
  return 'invalid'
}

export function isDuplicate(thrown: unknown): boolean {
  return sqlState(thrown) === '23505'
}

/** The generation that the statement names was dropped. With a new list of generations, the same request can succeed. */
export function isMissingTable(thrown: unknown): boolean {
  return sqlState(thrown) === '42P01'
}

/** For callers. */
export function writeFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  if (troubleOf(thrown) !== 'invalid') return unavailable(thrown)
  return new Fault('internal', 'The call could not be stored; the server log has the reason.', { cause: thrown })
}

export function unavailable(cause?: unknown): Fault {
  return new Fault(
    'unavailable',
    "The server's storage cannot be reached. Try again later with the same request id; it may have been recorded.",
    { code: 'STORAGE_FAILED', ofStorage: true, retryAfterMs: RETRY_AFTER_MS, cause },
  )
}

export function closed(): Fault {
  return new Fault('unavailable', 'The store is closed. Send this again to a running server.')
}

/** For the operator, at a start. */
export function openFault(thrown: unknown, shown: string): Fault {
  if (thrown instanceof Fault) return thrown
  const reason = thrown instanceof ConnectFailed ? thrown.cause : thrown
  const state = sqlState(reason)
  const refuse = (message: string, suffix: string, retryable = false) =>
    new Fault('unavailable', message, { code: `STORAGE_${suffix}`, retryable, cause: thrown })
  if (state === '28P01' || state === '28000')
    return refuse(`Postgres at ${shown} refuses the login. Check the user and the password in the address.`, 'LOGIN')
  if (state === '3D000')
    return refuse(`There is no database ${shown}. Create it: createdb, or CREATE DATABASE.`, 'MISSING')
  if (state === '42501')
    return refuse(
      `The user may not create the tables in ${shown}. Grant CREATE on the database, or create the schema for the user.`,
      'FORBIDDEN',
    )
  if (thrown instanceof ConnectFailed)
    return refuse(
      `Postgres at ${shown} cannot be reached: ${messageOf(reason)}. Check the address, and sslmode if the server needs or lacks TLS.`,
      'UNREACHABLE',
      true,
    )
  return refuse(`The database ${shown} cannot be used: ${messageOf(reason)}.`, 'FAILED')
}

/** The driver sets `code` to the SQLSTATE. Errors of the system have a name there, such as ECONNRESET. */
export function sqlState(thrown: unknown): string | undefined {
  const { code } = (thrown ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E') ? code : undefined
}

/** Errors of our own code. The driver and the system throw plain errors. */
function isProgramError(thrown: unknown): boolean {
  return thrown instanceof TypeError || thrown instanceof RangeError || thrown instanceof SyntaxError
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
