/** Runs an operation as a function in this process. */
import type { HandlerContext } from '../../core/call/context.ts'
import type { Backend, BackendTraits } from '../../core/ports/backend.ts'

export const handlerTraits: BackendTraits = {
  kind: 'handler',
  insteadOfAuth:
    'Leave it out, and list in "requires" the secrets and authorizations that the handler reads from its context.',
}

export function createHandlerBackend(run: (args: unknown, context: HandlerContext) => unknown): Backend {
  return { ...handlerTraits, execute: (args, context) => run(args, context) }
}
