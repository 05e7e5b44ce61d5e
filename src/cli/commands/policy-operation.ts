/** Finds the operation for `callplane policy test`: as its module defines it, or as the command line describes it. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { completeOperation } from '../../core/operation/defaults.ts'
import { operation } from '../../core/operation/define.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Risk } from '../../core/operation/rules.ts'
import { prepareSchemas } from '../../schemas/index.ts'
import { describeBackend } from '../../server/build/backends.ts'
import { buildRegistry } from '../../server/build/operations.ts'
import type { ToolImport } from '../../server/declarations/index.ts'
import { loadApplication } from '../serve/application.ts'
import { findModulesBeside } from '../serve/modules.ts'

export interface Modules {
  /** The file or folder that defines the operations. */
  place: string
  /** The policy file, which may be in the same folder. */
  policy: string
}

/** Throws if a server would refuse these arguments before it evaluates the policy. */
export async function operationIn(modules: Modules, name: string, args: JsonObject): Promise<Operation> {
  const { operations, imports, settings } = await loadApplication(findModulesBeside(modules.policy, modules.place))
  const registry = buildRegistry(operations, describeBackend)
  const found = resolveIn(registry, name, [...(settings.imports ?? []), ...imports])
  await found.parseArgs(args)
  return found
}

function resolveIn(
  registry: ReturnType<typeof buildRegistry>,
  name: string,
  imports: readonly ToolImport[],
): Operation {
  try {
    return registry.resolve(name, Date.now())
  } catch (thrown) {
    const unknown = thrown instanceof Fault && thrown.kind === 'unknown-operation'
    const imported = unknown && imports.find((one) => isBelow(one, name))
    throw imported ? describeInstead(name, imported) : thrown
  }
}

function isBelow({ major, namespace }: ToolImport, name: string): boolean {
  return name.startsWith(`v${major}:${namespace}.`)
}

function describeInstead(name: string, { place }: ToolImport): Fault {
  return new Fault(
    'malformed',
    `${name} would be a tool of the MCP server at ${place}, and this command does not connect to that server. Leave out --operations, and describe the tool with --capabilities and --risk.`,
  )
}

export interface Described {
  capabilities: readonly string[]
  risk: string | undefined
  isolated: boolean
}

export function describedOperation(name: string, { capabilities, risk, isolated }: Described): Operation {
  const rules = { capabilities, ...(risk !== undefined && { risk: risk as Risk }) }
  const definition = operation(name, { ...rules, backend: { kind: 'described' } })
  return completeOperation(definition, prepareSchemas(definition), { ...describeBackend(definition), isolated })
}
