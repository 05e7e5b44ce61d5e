/** What all other parts of a server need: the clock, the log, redaction and the client for outgoing requests. */
import { Fault } from '../../core/fault.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import { createRemoteClient } from '../../security/outbound/remote-client.ts'
import { createRedactor, type Redactor } from '../../security/redaction/redaction.ts'
import { createLog } from '../../telemetry/index.ts'
import { nodeTooOld } from '../open/node-version.ts'
import type { ServerOptions } from '../options/options.ts'
import { systemClock } from './environment.ts'

export interface Base {
  clock: Clock
  log: Log
  redactor: Redactor
  remote: ReturnType<typeof createRemoteClient>
  /** The number of this process, from 1, if it is one of several. */
  worker?: number
}

export function createBase(options: Pick<ServerOptions, 'clock' | 'log' | 'logTo'>, worker?: number): Base {
  const redactor = createRedactor()
  return {
    clock: options.clock ?? systemClock,
    log: chooseLog(options, redactor, worker),
    redactor,
    remote: createRemoteClient(),
    ...(worker !== undefined && { worker }),
  }
}

export function requireNode(): void {
  const reason = nodeTooOld(process.versions.node)
  if (reason !== undefined) throw new Fault('malformed', reason, { code: 'NODE_TOO_OLD' })
}

function chooseLog(
  { log = 'silent', logTo }: Pick<ServerOptions, 'log' | 'logTo'>,
  redactor: Redactor,
  worker: number | undefined,
): Log {
  const chosen =
    typeof log === 'object' ? log : createLog({ level: log, redactor, ...(logTo && { destination: logTo }) })
  // Several processes write to one log, so each line names its worker.
  return worker === undefined ? chosen : chosen.child({ worker })
}
