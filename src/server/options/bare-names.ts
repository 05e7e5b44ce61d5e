/** Decides which tools have names without a namespace. */
import { Fault } from '../../core/fault.ts'
import { isName, lineageOf, parseName } from '../../core/operation/names.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Registry } from '../../engine/registry.ts'
import type { ToolOptions } from './options.ts'

export type IsBare = (operation: Pick<Operation, 'name' | 'internal'>) => boolean

/** With `imports`, an unknown name is allowed: it may be a tool that is imported later. */
export function bareNames({ bareNames: given = false }: ToolOptions, registry: Registry, imports: boolean): IsBare {
  if (given === true) return ({ internal }) => internal !== true
  if (given === false) return () => false
  if (!Array.isArray(given)) throw refused('tools.bareNames must be true or a list of names such as v1:orders.getItem.')
  const defined = new Set(registry.operations.map(({ name }) => name.full))
  const unknown = given.find((name) => typeof name !== 'string' || !isName(name) || !(imports || defined.has(name)))
  if (unknown !== undefined) {
    throw refused(
      `tools.bareNames has ${JSON.stringify(unknown)}, which is not an operation of this server. Use a name such as v1:orders.getItem.`,
    )
  }
  const bare = new Set(given.map((name) => lineageOf(parseName(name))))
  return ({ name }) => bare.has(lineageOf(name))
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
