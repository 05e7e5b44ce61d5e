/**
 * `callplane/client/calls`: calls and runs over HTTP, in less than 5 kB. Results in chunks, uploads and streams need
 * `callplane/client`.
 */
import { buildClient } from './client.ts'
import { CallFault } from './fault.ts'
import { HttpTransport } from './http/http-transport.ts'
import type { ClientOptions } from './options.ts'
import { PendingCall } from './pending-call.ts'
import { CallRun, type Finish } from './run.ts'
import type { SmallClient } from './types.ts'

export { CallFault, type ClientCode, isFault, type Outcome, type Settled, safe } from './fault.ts'
export type { CallOptions, ClientOptions, Middleware, OutgoingCall, Progress } from './options.ts'
export type { Run } from './run.ts'
export type { Call, SmallClient } from './types.ts'

export function createClient<Ops>(options: ClientOptions): SmallClient<Ops> {
  const transport = options.transport ?? new HttpTransport(options)
  return buildClient(options, transport, {
    createCall: (calling, finish, outgoing, given) => new PendingCall(calling, finish, outgoing, given),
    createRun: (calling, finish, operation, first) => new CallRun(calling, finish, operation, first),
    finish: resultOf,
  }) as SmallClient<Ops>
}

/** OpenCALL: a completed call has a `result` or a `location`. */
const resultOf: Finish = ({ envelope }) => {
  if ('result' in envelope) return envelope.result
  throw new CallFault('RESULT_UNREADABLE', 'Use "callplane/client": the result is at an address.')
}
