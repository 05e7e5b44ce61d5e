/**
 * Turns a thrown value into a fault for the client. The cause of an internal fault goes to the log, never to the
 * client. So does that of a storage failure, unless the storage says when to come back: then its own log line is enough.
 */
import { Fault } from '../core/fault.ts'
import type { Log } from '../core/ports/runtime.ts'

export function explain(thrown: unknown, log: Pick<Log, 'error'>, message?: string): Fault {
  const fault = Fault.from(thrown, message)
  const isStorage = fault.ofStorage && fault.cause !== undefined && fault.retryAfterMs === undefined
  if (fault.kind === 'internal' || isStorage) log.error({ err: fault.cause ?? fault }, 'a request failed')
  return fault
}
