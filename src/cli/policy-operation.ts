/** The operation that a policy is asked about: as its module defines it, or as the command line describes it. */
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { type Operation, operation, type Risk } from '../core/operation.ts'
import type { Backend } from '../core/ports.ts'
import { completeOperation } from '../core/rules.ts'
import { prepareSchemas } from '../schemas/index.ts'
import { buildRegistry } from '../server/operations.ts'
import { loadApplication } from './application.ts'
import { findModules } from './modules.ts'

const SANDBOXES = new Set(['container', 'wasm'])

/** Throws if these arguments would be refused before anybody asked the policy. */
export async function operationIn(place: string, name: string, args: JsonObject): Promise<Operation> {
  const { operations } = await loadApplication(findModules(place))
  const registry = buildRegistry(operations, ({ backend }) =>
    standIn(backend?.kind ?? 'handler', SANDBOXES.has(backend?.kind ?? '')),
  )
  const found = registry.resolve(name, Date.now())
  await found.parseArgs(args)
  return found
}

export interface Described {
  capabilities: readonly string[]
  risk: string | undefined
  isolated: boolean
}

export function describedOperation(name: string, { capabilities, risk, isolated }: Described): Operation {
  const rules = { capabilities, ...(risk !== undefined && { risk: risk as Risk }) }
  const definition = operation(name, { ...rules, backend: { kind: 'described' } })
  return completeOperation(definition, prepareSchemas(definition), standIn('described', isolated))
}

/** Nothing of the real one is made: it could open connections, and nothing is run here. */
function standIn(kind: string, isolated: boolean): Backend {
  return {
    kind,
    isolated,
    execute() {
      throw new Fault('internal', 'A policy test runs nothing.')
    },
  }
}
