/** Puts a client together: the tree of operations, and the methods beside it. Entries of the package add features. */
import type { JsonObject } from '../core/json.ts'
import { Calling, type Ended } from './calling.ts'
import { withCall } from './judge.ts'
import type { CallOptions, ClientOptions, OutgoingCall } from './options.ts'
import { CallRun, type Finish } from './run.ts'
import { systemClock } from './time.ts'
import type { Transport } from './transport.ts'
import { createTree } from './tree.ts'

/** What an entry of the package adds to plain calls. */
export interface Features {
  /** What a call returns, and how its end becomes a result. */
  createCall(calling: Calling, finish: Finish, outgoing: OutgoingCall, options: CallOptions): unknown
  finish: Finish
  /** Methods beside the operations. */
  readonly methods?: Readonly<Record<string, unknown>>
}

export function buildClient(
  options: ClientOptions,
  transport: Transport,
  { createCall, finish, methods }: Features,
): unknown {
  const calling = new Calling(transport, options, systemClock)
  const call = (operation: string, args?: unknown, given: CallOptions = {}) =>
    createCall(calling, finish, calling.outgoing(operation, args as JsonObject | undefined, given), given)
  const leaves = {
    call: (operation: string, args: unknown, given: unknown) => call(operation, args, given as CallOptions | undefined),
    async start(operation: string, args: unknown, given: unknown) {
      const options = (given ?? {}) as CallOptions
      const outgoing = calling.outgoing(operation, args as JsonObject | undefined, options)
      const limit = calling.limit(options)
      try {
        return new CallRun(calling, finish, operation, await calling.send(outgoing, limit.signal))
      } catch (thrown) {
        throw withCall(thrown, outgoing)
      } finally {
        limit.end()
      }
    },
    resume: (operation: string, id: string) => resumed(calling, finish, operation, id),
  }
  return createTree(leaves, {
    call,
    resume: (id: string) => resumed(calling, finish, 'a resumed call', id),
    close: () => transport.close(),
    ...methods,
  })
}

/** Its state is unknown until the first response, and polls go to the address of its id. */
function resumed(calling: Calling, finish: Finish, operation: string, id: string): CallRun<unknown> {
  return new CallRun(calling, finish, operation, { envelope: { requestId: id, state: 'accepted', retryAfterMs: 0 } })
}

/** The result in the envelope. OpenCALL: a completed call has a `result` or a `location`. */
export function inlineResult({ envelope }: Ended): unknown {
  return envelope.result
}
