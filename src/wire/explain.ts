/** Turns what was thrown into a fault for the client. The log has the cause of an internal one, which no client is told. */
import { Fault } from '../core/fault.ts'
import type { Log } from '../core/ports/runtime.ts'

export function explain(thrown: unknown, log: Pick<Log, 'error'>, message?: string): Fault {
  const fault = Fault.from(thrown, message)
  if (fault.kind === 'internal') log.error({ err: fault.cause ?? fault }, 'a request failed')
  return fault
}
