/** Runs an operation as a function in this process. */
import type { HandlerContext } from '../../core/context.ts'
import type { Backend } from '../../core/ports/backend.ts'

export function createHandlerBackend(run: (args: unknown, context: HandlerContext) => unknown): Backend {
  return {
    kind: 'handler',
    refusesAuth: 'Leave it out, and name in "requires" what the handler asks its context for.',
    execute: (args, context) => run(args, context),
  }
}
