/** Hides the values that a JSON Schema marks as sensitive: `writeOnly`, or `format: password`. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { decodePointer } from '../../../core/json-pointer.ts'

const MARK = '[redacted]'

type Schemas = ReadonlySet<JsonObject>
type Found = JsonValue | undefined

/** The value itself if nothing in it is sensitive. */
export function withoutSensitive(schema: JsonObject, value: JsonValue): JsonValue {
  return hide(applying([schema], schema), value, schema)
}

/**
 * All schemas of one place are looked at together, and each of them once. Followed one by one, a recursive schema with
 * several branches leads along every combination of them, which takes a time that doubles with every level of the value.
 */
function hide(schemas: Schemas, value: JsonValue, root: JsonObject): JsonValue {
  for (const { writeOnly, format } of schemas) if (writeOnly === true || format === 'password') return MARK
  if (Array.isArray(value)) return hideItems([...schemas], value, root)
  return isJsonObject(value) ? hideMembers([...schemas], value, root) : value
}

/** These schemas and their branches, whichever the value matches: a field that one of them marks is hidden. */
function applying(given: Iterable<Found>, root: JsonObject): Schemas {
  const found = new Set<JsonObject>()
  const open = [...given]
  while (open.length > 0) {
    const schema = open.pop()
    if (!isJsonObject(schema) || found.has(schema)) continue
    found.add(schema)
    for (const ref of [schema.$ref, schema.$dynamicRef]) if (typeof ref === 'string') open.push(resolve(root, ref))
    for (const list of [schema.allOf, schema.anyOf, schema.oneOf]) open.push(...listIn(list))
    open.push(schema.if, schema.then, schema.else, ...valuesIn(schema.dependentSchemas))
  }
  return found
}

function hideItems(schemas: readonly JsonObject[], items: readonly JsonValue[], root: JsonObject): JsonValue {
  const firstOf = ({ prefixItems, items: all }: JsonObject) => listIn(prefixItems ?? all)
  const restOf = ({ items: all, additionalItems, unevaluatedItems, contains }: JsonObject) =>
    [Array.isArray(all) ? additionalItems : all, unevaluatedItems, contains] as const
  const rest = applying(schemas.flatMap(restOf), root)
  const first = Math.max(0, ...schemas.map((schema) => firstOf(schema).length))
  const after = items.map((item, at) => {
    if (at >= first) return hide(rest, item, root)
    const own = schemas.flatMap((schema) => {
      const place = firstOf(schema)[at]
      return place === undefined ? restOf(schema) : [place, schema.contains]
    })
    return hide(applying(own, root), item, root)
  })
  return after.some((item, at) => item !== items[at]) ? after : (items as JsonValue)
}

function hideMembers(schemas: readonly JsonObject[], value: JsonObject, root: JsonObject): JsonValue {
  // A pattern may be slow on some keys, so it is not asked: its schema applies to every key without one of its own.
  const othersOf = ({ additionalProperties, unevaluatedProperties, patternProperties }: JsonObject) => [
    additionalProperties,
    unevaluatedProperties,
    ...valuesIn(patternProperties),
  ]
  const others = applying(schemas.flatMap(othersOf), root)
  let changed = false
  const members = Object.entries(value).map(([key, member]): [string, JsonValue] => {
    const hasOwn = ({ properties }: JsonObject) => isJsonObject(properties) && Object.hasOwn(properties, key)
    const own = schemas.flatMap((schema) =>
      hasOwn(schema) ? [(schema.properties as JsonObject)[key]] : othersOf(schema),
    )
    const after = hide(schemas.some(hasOwn) ? applying(own, root) : others, member, root)
    changed ||= after !== member
    return [key, after]
  })
  return changed ? Object.fromEntries(members) : value
}

/** Only inside the schema: a sensitive field behind another address is not known. */
function resolve(root: JsonObject, ref: string): Found {
  if (ref !== '#' && !ref.startsWith('#/')) {
    const name = ref.slice(1)
    const isNamed = ({ $id, $anchor, $dynamicAnchor }: JsonObject) =>
      $id === ref || (ref.startsWith('#') && ($anchor === name || $dynamicAnchor === name))
    return [root, ...valuesIn(root.$defs)].find((schema) => isJsonObject(schema) && isNamed(schema))
  }
  let found: Found = root
  for (const key of decodePointer(ref.slice(1))) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as JsonObject)[key]
  }
  return found
}

function listIn(value: Found): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

function valuesIn(value: Found): readonly Found[] {
  return isJsonObject(value) ? Object.values(value) : []
}
