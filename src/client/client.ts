/** Puts a client together: the tree of operations, and the methods beside it. Entries of the package add features. */
import type { JsonObject } from '../core/json.ts'
import { Calling, type CallingExtras } from './calling.ts'
import type { CallOptions, ClientOptions, OutgoingCall } from './options.ts'
import type { Finish } from './run.ts'
import { systemClock } from './time.ts'
import type { Received, Transport } from './transport.ts'
import { createTree } from './tree.ts'

/** What an entry of the package adds to plain calls. */
export interface Features {
  /** What a call returns, and how its end becomes a result. */
  createCall(calling: Calling, finish: Finish, outgoing: OutgoingCall, options: CallOptions): unknown
  createRun(calling: Calling, finish: Finish, operation: string, first: Received): unknown
  finish: Finish
  readonly extras?: CallingExtras
  /** Methods beside the operations. */
  readonly methods?: Readonly<Record<string, unknown>>
}

export function buildClient(
  options: ClientOptions,
  transport: Transport,
  { createCall, createRun, finish, extras = {}, methods }: Features,
): unknown {
  const calling = new Calling(transport, options, systemClock, extras)
  const call = (operation: string, args?: unknown, given: CallOptions = {}) =>
    createCall(calling, finish, calling.outgoing(operation, args as JsonObject | undefined, given), given)
  const leaves = {
    call,
    start(operation: string, args: unknown, given: CallOptions = {}) {
      const outgoing = calling.outgoing(operation, args as JsonObject | undefined, given)
      return calling.within(given, outgoing, async (signal) =>
        createRun(calling, finish, operation, await calling.send(outgoing, signal)),
      )
    },
    resume: (operation: string, id: string) => createRun(calling, finish, operation, resumed(id)),
  }
  return createTree(leaves, {
    call,
    resume: (id: string) => createRun(calling, finish, 'a resumed call', resumed(id)),
    close: () => transport.close(),
    ...methods,
  })
}

/** Its state is unknown until the first response, and polls go to the address of its id. */
function resumed(id: string): Received {
  return { envelope: { requestId: id, state: 'accepted', retryAfterMs: 0 } }
}
