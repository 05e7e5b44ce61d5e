/** From what developers wrote to what the engine runs. */
import { Fault } from '../core/fault.ts'
import type { Operation, OperationDefinition, Tombstone } from '../core/operation.ts'
import type { Backend } from '../core/ports.ts'
import { createRegistry, type Registry } from '../core/registry.ts'
import { completeOperation } from '../core/rules.ts'
import { prepareSchemas } from '../schemas/index.ts'

export function buildRegistry<App>(
  given: readonly (OperationDefinition<App> | Tombstone)[],
  backendFor: (definition: OperationDefinition<App>) => Backend,
): Registry {
  const operations: Operation[] = []
  const tombstones: Tombstone[] = []
  for (const entry of given) {
    if (typeof entry !== 'object' || entry === null || typeof entry.name !== 'string') {
      throw new Fault(
        'malformed',
        'An entry of "operations" is not an operation. Make each with operation(...) or removed(...).',
      )
    }
    if ('removed' in entry) tombstones.push(entry)
    else operations.push(completeOperation(entry, prepareSchemas(entry), backendFor(entry)))
  }
  return createRegistry(operations, tombstones)
}
