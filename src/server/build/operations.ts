/** Builds the registry's operations from the developer's definitions. */
import { Fault } from '../../core/fault.ts'
import { completeOperation } from '../../core/operation/defaults.ts'
import type { Operation, OperationDefinition, Tombstone } from '../../core/operation/operation.ts'
import type { Backend } from '../../core/ports/backend.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { prepareStream } from '../../encodings/index.ts'
import { createRegistry, type Registry } from '../../engine/registry.ts'
import { type OnCostly, prepareSchemas, requireObjectArguments } from '../../schemas/index.ts'

export function buildRegistry<App>(
  given: readonly (OperationDefinition<App> | Tombstone)[],
  backendFor: (definition: OperationDefinition<App>) => Backend,
  log?: Log,
): Registry {
  const operations: Operation[] = []
  const tombstones: Tombstone[] = []
  for (const entry of given) {
    if (typeof entry !== 'object' || entry === null || typeof entry.name !== 'string') {
      throw new Fault(
        'malformed',
        'An entry of "operations" is not an operation. Create each entry with operation(...) or removed(...).',
      )
    }
    if ('removed' in entry) tombstones.push(entry)
    else {
      const prepared = prepareSchemas(entry, log && tellOfCost(log, entry.name))
      requireObjectArguments(entry, prepared)
      const stream = prepareStream(entry, prepared.frame)
      operations.push(completeOperation(entry, prepared, backendFor(entry), stream))
    }
  }
  return createRegistry(operations, tombstones)
}

/** A schema that needs a time limit deserves a warning; a schema whose steps are counted does not. */
export function tellOfCost(log: Log, operation: string): OnCostly {
  return (side, bound, reason) => {
    const fields = { operation, side, reason }
    if (bound === 'counted') log.debug(fields, 'validation steps of a schema are counted')
    else log.warn(fields, 'a schema can be slow to validate; validation runs under a time limit and takes 0.1 ms more')
  }
}
