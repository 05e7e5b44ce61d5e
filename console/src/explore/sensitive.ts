/** Takes values out that must not be in a link, in the history or in a saved call: `writeOnly` and passwords. */

type Schema = { readonly [keyword: string]: unknown }

const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const
const INNER = ['items', 'additionalProperties', 'contains', 'then', 'else', 'if', 'unevaluatedProperties'] as const
const MAX_DEPTH = 40

/** The same text if nothing is sensitive, so that bytes and order of other arguments stay. */
export function withoutSensitive(text: string, schema: unknown): string {
  if (!mentions(schema)) return text
  try {
    const value: unknown = JSON.parse(text)
    const isChanged = strip(value, [schema], schema as Schema, 0)
    return isChanged ? JSON.stringify(value, null, 2) : text
  } catch {
    // Broken text cannot be searched, so none of it is kept.
    return '{}'
  }
}

function mentions(schema: unknown): boolean {
  const text = JSON.stringify(schema ?? {})
  return text.includes('"writeOnly":true') || text.includes('"format":"password"')
}

function isSensitive(schema: Schema): boolean {
  return schema.writeOnly === true || schema.format === 'password'
}

/** Removes members of objects, and empties items of lists, so that the other items keep their places. */
function strip(value: unknown, schemas: readonly unknown[], root: Schema, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false
  const known = schemas.flatMap((schema) => expand(schema, root, 0))
  let isChanged = false
  for (const [key, member] of Object.entries(value)) {
    const inner = known
      .flatMap((schema) => schemasOf(schema, key, Array.isArray(value)))
      .flatMap((schema) => expand(schema, root, 0))
    if (inner.some(isSensitive)) {
      if (Array.isArray(value)) value[Number(key)] = null
      else delete (value as Record<string, unknown>)[key]
      isChanged = true
    } else if (strip(member, inner, root, depth + 1)) isChanged = true
  }
  return isChanged
}

/** The schema, those that it refers to, and its branches. Whether a branch applies does not matter here. */
function expand(schema: unknown, root: Schema, depth: number): Schema[] {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return []
  const own = schema as Schema
  const more = BRANCHES.flatMap((name) => (Array.isArray(own[name]) ? (own[name] as unknown[]) : []))
  for (const name of ['if', 'then', 'else']) if (own[name]) more.push(own[name])
  if (typeof own.$ref === 'string') more.push(resolve(own.$ref, root))
  if (typeof own.$dynamicRef === 'string') more.push(resolve(own.$dynamicRef, root))
  if (typeof own.dependentSchemas === 'object') more.push(...Object.values(own.dependentSchemas ?? {}))
  return [own, ...more.flatMap((one) => expand(one, root, depth + 1))]
}

function resolve(ref: string, root: Schema): unknown {
  if (!ref.startsWith('#')) return undefined
  let at: unknown = root
  for (const part of decodeURIComponent(ref.slice(1)).split('/').slice(1)) {
    at = (at as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return at
}

function schemasOf(schema: Schema, key: string, isItem: boolean): unknown[] {
  const of = (name: string) => (schema[name] as Record<string, unknown> | undefined)?.[key]
  const patterns = Object.entries((schema.patternProperties as object | undefined) ?? {})
    .filter(([pattern]) => matches(pattern, key))
    .map(([, inner]) => inner)
  const shared = INNER.map((name) => schema[name])
  return isItem ? [of('prefixItems'), ...shared] : [of('properties'), ...patterns, ...shared]
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key)
  } catch {
    return true
  }
}
