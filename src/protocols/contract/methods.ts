/** The Contract as a unary RPC with a JSON codec, for runtimes of the kind `grpc`. */
import type { UnaryMethods } from '../../core/ports/unary.ts'
import { encodeResponse } from './codec.ts'
import { type ContractParts, Executions } from './executions.ts'
import { statusOf } from './statuses.ts'
import { EXECUTE_METHOD } from './wire.ts'

/** `origin` is the address of our HTTP server. Clients fetch binary results from there. */
export function createContractMethods(parts: ContractParts & { origin: () => string }): UnaryMethods {
  const executions = new Executions(parts)
  return new Map([
    [
      EXECUTE_METHOD,
      async (call) => {
        const { text, signal, deadlineMs } = call
        const { response, refusal } = await executions.execute({
          header: (name) => call.header(name),
          text: async () => text,
          signal,
          origin: parts.origin(),
          ...(deadlineMs !== undefined && { deadlineMs }),
        })
        // A refusal with an HTTP error status becomes a gRPC status. Everything else is in the message.
        if (refusal && statusOf(refusal) !== 200) throw refusal
        return encodeResponse(response, parts.settings)
      },
    ],
  ])
}
