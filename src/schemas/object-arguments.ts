/**
 * Requires that arguments can be an object: OXP, OTC and MCP support only objects, so other operations could never be
 * called there. The check runs at start on the schema alone, without running code of the application.
 */
import { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import { decodePointer } from '../core/json-pointer.ts'
import type { OperationDefinition, PreparedSchemas } from '../core/operation/operation.ts'
import type { PlainSchema, StandardSchema } from '../core/operation/schema.ts'
import { isStandardSchema } from './standard.ts'

/**
 * `prepared` has the exported JSON Schema of a library's schema. It is used only if the library's object types do not
 * decide.
 */
export function requireObjectArguments(definition: OperationDefinition<never>, prepared: PreparedSchemas): void {
  const { name: operation, args, jsonSchema } = definition
  const plain = jsonSchema?.args ?? (isStandardSchema(args) ? exportOf(args, prepared) : args)
  if (plain === undefined || takesObject(plain, plain, new Set())) return
  throw new Fault(
    'malformed',
    `The arguments of ${operation} are not an object, and OXP and MCP support only objects. Wrap the value in one: z.object({ value: … }), or { type: 'object', properties: { value: { … } }, required: ['value'] } in JSON Schema.`,
    { code: 'INVALID_SCHEMA', details: { operation, side: 'args', path: '' } },
  )
}

/** The type names of objects in zod and valibot. These need no export; 10,000 exports take half a second. */
const OBJECTS = new Set(['object', 'strict_object', 'loose_object', 'object_with_rest', 'record'])

function exportOf(schema: StandardSchema, { schemas }: PreparedSchemas): PlainSchema | undefined {
  const { type } = schema as { type?: unknown }
  const { _zod: zod } = schema as { _zod?: { def?: { type?: unknown } } }
  if (OBJECTS.has(String(zod?.def?.type ?? type))) return undefined
  try {
    return schemas.args
  } catch (thrown) {
    // The schema cannot be exported. Its first use reports that.
    if (thrown instanceof Fault) return undefined
    throw thrown
  }
}

/** Returns false only if the keywords show that no object is valid. */
function takesObject(schema: unknown, root: PlainSchema, within: Set<unknown>): boolean {
  if (typeof schema === 'boolean') return schema
  if (!isJsonObject(schema) || within.has(schema)) return true
  within.add(schema)
  const takes = (inner: unknown) => takesObject(inner, root, within)
  try {
    const { type, const: only, enum: values, allOf, anyOf, oneOf, not, $ref } = schema
    if (type !== undefined && ![type].flat().includes('object')) return false
    if (only !== undefined && !isJsonObject(only)) return false
    if (Array.isArray(values) && !values.some(isJsonObject)) return false
    if (Array.isArray(allOf) && !allOf.every(takes)) return false
    if (Array.isArray(anyOf) && !anyOf.some(takes)) return false
    if (Array.isArray(oneOf) && !oneOf.some(takes)) return false
    if (isJsonObject(not) && excludesObjects(not)) return false
    return typeof $ref !== 'string' || takes(targetOf($ref, root))
  } finally {
    within.delete(schema)
  }
}

/** True for exactly `not: { type: 'object' }`, without other keywords that would limit it. */
function excludesObjects({ type, ...more }: PlainSchema): boolean {
  return [type].flat().includes('object') && Object.keys(more).length === 0
}

/** Returns `true` for anchors and ids, which are not resolved here. */
function targetOf(ref: string, root: PlainSchema): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return true
  return decodePointer(ref.slice(1)).reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as PlainSchema)[key] : true),
    root,
  )
}
