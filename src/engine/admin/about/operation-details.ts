/** One operation as an operator sees it: its published entry, what runs it, its rules and its recent rates. */
import type { JsonObject } from '../../../core/json.ts'
import { operation } from '../../../core/operation/define.ts'
import { unknownOperation } from '../../../core/operation/names.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Registry } from '../../registry.ts'
import { record, TEXT } from '../shapes.ts'
import { maySeeServer, type WholeServerParts } from '../whole-server.ts'

export interface OperationRates {
  calls: number
  errors: number
  p50Ms?: number
  p99Ms?: number
  /** The length of the time that was counted, until now. */
  sinceMs: number
}

export interface DetailsParts extends WholeServerParts {
  registry: Pick<Registry, 'resolve'>
  clock: Clock
  /** The operation as the registry publishes it. */
  describe(operation: Operation): JsonObject
  rates(operation: Operation): OperationRates
}

export interface OperationDetails {
  op: string
  entry: JsonObject
  backend: { kind: string; about?: string }
  risk: string
  capabilities: readonly string[]
  retry: { attempts: number; retryable: string }
  import?: { from: string; tool: string }
  /** Of all callers. Absent for a caller who may not see the load of all tenants. */
  rates?: OperationRates
}

export function getOperation(parts: () => DetailsParts) {
  return operation('v1:callplane.operations.get', {
    description:
      'Returns one operation: its entry in the registry, what runs it, its rules, and how often it is called.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<{ op: string }>(record({ op: TEXT }, ['op'])),
    result: jsonSchema<OperationDetails>({
      type: 'object',
      required: ['op', 'entry', 'backend', 'risk', 'capabilities', 'retry'],
    }),
    run({ op }, { caller }) {
      const { registry, clock, describe, rates } = parts()
      const found = registry.resolve(op, clock.now())
      // An internal operation is hidden from callers without its scopes.
      if (found.internal && !found.scopes.every((scope) => hasScope(caller, scope))) throw unknownOperation(op)
      return detailsOf(found, describe(found), maySeeServer(parts(), caller) ? rates(found) : undefined)
    },
  })
}

function detailsOf(of: Operation, entry: JsonObject, rates: OperationRates | undefined): OperationDetails {
  const { backend, retry } = of
  return {
    op: of.name.full,
    entry,
    backend: { kind: backend.kind, ...(backend.about !== undefined && { about: backend.about }) },
    risk: of.risk,
    capabilities: of.capabilities,
    retry: { attempts: retry.attempts, retryable: retriesOf(of) },
    ...(backend.imported && { import: backend.imported }),
    ...(rates && { rates }),
  }
}

function retriesOf({ retry, model, sideEffecting }: Operation): string {
  if (retry.attempts <= 1) return 'never'
  return model === 'sync' && sideEffecting ? 'only before the effect' : 'after failures that can be retried'
}
