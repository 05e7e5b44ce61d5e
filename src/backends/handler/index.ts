/** Runs an operation as a function in this process. */
import type { HandlerContext } from '../../core/context.ts'
import type { Backend, BackendTraits } from '../../core/ports/backend.ts'

export const handlerTraits: BackendTraits = {
  kind: 'handler',
  insteadOfAuth: 'Leave it out, and name in "requires" what the handler asks its context for.',
}

export function createHandlerBackend(run: (args: unknown, context: HandlerContext) => unknown): Backend {
  return { ...handlerTraits, execute: (args, context) => run(args, context) }
}
