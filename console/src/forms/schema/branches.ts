/** Which branch of `oneOf` or `anyOf` a value belongs to, and what the branches are called. */
import { canonicalNode, canonicalValue } from '../check/equal.ts'
import { typesOf } from '../check/scalars.ts'
import { type JsonNode, memberOf } from '../text/nodes.ts'
import { isObject, nameList, type Schema, type SchemaObject, schemaMap } from './document.ts'
import type { FormModel } from './model.ts'

/** The one value that a schema allows. */
export function constantOf(model: FormModel, schema: Schema): { value: unknown } | undefined {
  const target = model.target(schema)
  if (!isObject(target)) return undefined
  if (Object.hasOwn(target, 'const')) return { value: target.const }
  if (Array.isArray(target.enum) && target.enum.length === 1) return { value: target.enum[0] }
  return undefined
}

export function isNullOnly(model: FormModel, schema: Schema): boolean {
  const target = model.target(schema)
  if (!isObject(target)) return false
  return target.type === 'null' || constantOf(model, target)?.value === null
}

/**
 * A property with a constant decides. Else a branch that fits the value decides, the chosen one first. If none fits, the
 * chosen one stays, so that a person can fill it in.
 */
export function chooseBranch(
  model: FormModel,
  schema: SchemaObject,
  branches: readonly Schema[],
  node: JsonNode | undefined,
  picked: number | undefined,
): number {
  if (!node) return picked ?? 0
  const named = discriminated(model, schema, branches, node)
  if (named >= 0) return named
  const order = picked === undefined ? [...branches.keys()] : [picked, ...branches.keys()]
  const fitting = order.find((index) => model.isValid(branches[index] ?? false, node))
  return fitting ?? picked ?? Math.max(bestKind(model, branches, node), 0)
}

/** The property whose constants tell the branches apart: as OpenAPI names it, or the first that all branches have. */
export function discriminatorOf(
  model: FormModel,
  schema: SchemaObject,
  branches: readonly Schema[],
): string | undefined {
  const { discriminator } = schema
  if (isObject(discriminator) && typeof discriminator.propertyName === 'string') return discriminator.propertyName
  const first = constantsIn(model, branches[0])
  for (const name of first.keys()) {
    const values = branches.map((branch) => constantsIn(model, branch).get(name))
    if (values.every((value) => value !== undefined) && new Set(values).size === branches.length) return name
  }
  return undefined
}

/** The text of the constant that a branch has at the discriminator. */
export function discriminatorValue(model: FormModel, branch: Schema | undefined, name: string): unknown {
  for (const [property, schema] of propertiesOf(model, branch)) {
    if (property === name) return constantOf(model, schema)?.value
  }
  return undefined
}

function discriminated(model: FormModel, schema: SchemaObject, branches: readonly Schema[], node: JsonNode): number {
  if (node.kind !== 'object') return -1
  const name = discriminatorOf(model, schema, branches)
  const value = name === undefined ? undefined : memberOf(node, name)?.value
  if (name === undefined || !value) return -1
  const text = canonicalNode(value)
  return branches.findIndex((branch) => constantsIn(model, branch).get(name) === text)
}

function constantsIn(model: FormModel, branch: Schema | undefined): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, schema] of propertiesOf(model, branch)) {
    const constant = constantOf(model, schema)
    if (constant) found.set(name, canonicalValue(constant.value))
  }
  return found
}

function propertiesOf(model: FormModel, branch: Schema | undefined): [string, Schema][] {
  const target = branch === undefined ? undefined : model.target(branch)
  return isObject(target) ? schemaMap(target.properties) : []
}

/** The first branch that allows the kind of the value. */
function bestKind(model: FormModel, branches: readonly Schema[], node: JsonNode): number {
  return branches.findIndex((branch) => {
    const target = model.target(branch)
    if (!isObject(target) || target.type === undefined) return false
    return typesOf(target.type).some((type) => type === node.kind || (type === 'integer' && node.kind === 'number'))
  })
}

/** A name for a branch: its title, its constant, the properties it needs, its type. */
export function branchLabel(
  model: FormModel,
  schema: SchemaObject,
  branches: readonly Schema[],
  index: number,
): string {
  const branch = branches[index] ?? true
  const target = model.target(branch)
  for (const each of [branch, target]) if (isObject(each) && typeof each.title === 'string') return each.title
  if (!isObject(target)) return `${index + 1}`
  const constant = constantOf(model, target)
  if (constant) return JSON.stringify(constant.value)
  const name = discriminatorOf(model, schema, branches)
  const value = name === undefined ? undefined : discriminatorValue(model, branch, name)
  if (value !== undefined) return typeof value === 'string' ? value : JSON.stringify(value)
  const needed = nameList(target.required)
  if (needed.length > 0) return needed.slice(0, 3).join(', ')
  const ref = isObject(branch) && typeof branch.$ref === 'string' ? branch.$ref.split('/').at(-1) : undefined
  return ref || typesOf(target.type).join(' | ') || `${index + 1}`
}
