/**
 * Turns a thrown value into a fault for the client. The cause of an internal fault goes to the log, never to the
 * client.
 */
import { Fault } from '../core/fault.ts'
import type { Log } from '../core/ports/runtime.ts'

export function explain(thrown: unknown, log: Pick<Log, 'error'>, message?: string): Fault {
  const fault = Fault.from(thrown, message)
  if (fault.kind === 'internal') log.error({ err: fault.cause ?? fault }, 'a request failed')
  return fault
}
