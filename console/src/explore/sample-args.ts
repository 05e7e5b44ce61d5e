/** Arguments to begin with: what the schema offers as examples, else small values of the right type. */

type Schema = { readonly [keyword: string]: unknown }

const MAX_DEPTH = 6

/** JSON text of an object with the required members, and with those that have an example. */
export function sampleArgs(schema: unknown): string {
  const value = sampleOf(schema, schema as Schema, 0, 1)
  return JSON.stringify(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}, null, 2)
}

/** `place` is the number of the member, so that two numbers of a sum are not the same. */
function sampleOf(given: unknown, root: Schema, depth: number, place: number): unknown {
  const schema = resolved(given, root)
  if ('const' in schema) return schema.const
  const [example] = (Array.isArray(schema.examples) ? schema.examples : []) as unknown[]
  if (example !== undefined) return example
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [branch] = [schema.oneOf, schema.anyOf].find(Array.isArray) ?? []
  if (branch !== undefined && schema.type === undefined) return sampleOf(branch, root, depth + 1, place)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || schema.properties) return depth < MAX_DEPTH ? objectOf(schema, root, depth) : {}
  if (type === 'array') return []
  if (type === 'integer' || type === 'number') return within(place, schema)
  if (type === 'boolean') return false
  if (type === 'string') return textOf(schema)
  return type === 'null' ? null : {}
}

function objectOf(schema: Schema, root: Schema, depth: number): object {
  const required = (schema.required ?? []) as string[]
  const members: Record<string, unknown> = {}
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  for (const [index, [name, inner]] of properties.entries()) {
    const isKnown = required.includes(name) || Array.isArray(resolved(inner, root).examples)
    const isSecret = inner.writeOnly === true || inner.format === 'password'
    if (isKnown && !isSecret) members[name] = sampleOf(inner, root, depth + 1, index + 1)
  }
  return members
}

function resolved(given: unknown, root: Schema): Schema {
  let schema = given as Schema | undefined
  for (let step = 0; step < MAX_DEPTH && typeof schema?.$ref === 'string'; step++) {
    const path = schema.$ref.startsWith('#/') ? schema.$ref.slice(2).split('/') : []
    schema = path.reduce<unknown>((at, part) => (at as Schema | undefined)?.[part], root) as Schema | undefined
  }
  return typeof schema === 'object' && schema !== null ? schema : {}
}

function within(wanted: number, { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Schema): number {
  const low = Number(minimum ?? (exclusiveMinimum === undefined ? -Infinity : Number(exclusiveMinimum) + 1))
  const high = Number(maximum ?? (exclusiveMaximum === undefined ? Infinity : Number(exclusiveMaximum) - 1))
  const value = Math.min(Math.max(wanted, low), high)
  return typeof multipleOf === 'number' ? Math.ceil(value / multipleOf) * multipleOf : value
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  hostname: 'example.com',
  duration: 'PT1H',
}

function textOf({ format, pattern, minLength }: Schema): string {
  const known = typeof format === 'string' ? FORMATS[format] : undefined
  if (known !== undefined) return known
  if (typeof pattern === 'string') return ofPattern(pattern)
  return 'text'.padEnd(Number(minLength ?? 0), '.')
}

/** Digits and letters in fixed numbers, such as `^\d{4}-\d{2}$`. Other patterns are left to the person. */
function ofPattern(pattern: string): string {
  const body = pattern.replace(/^\^/, '').replace(/\$$/, '')
  const simple = /^(?:(?:\\d|\[0-9\]|\[a-z\]|\[A-Z\]|[\w\-/:. ])(?:\{\d+\})?)+$/
  if (!simple.test(body)) return ''
  return body.replaceAll(
    /(\\d|\[0-9\]|\[a-z\]|\[A-Z\]|[\w\-/:. ])(?:\{(\d+)\})?/g,
    (_, unit: string, times?: string) => {
      const count = Math.min(Number(times ?? 1), 100)
      if (unit === '\\d' || unit === '[0-9]') return count === 4 ? '2026' : '1'.padStart(count, '0')
      return (unit === '[a-z]' ? 'a' : unit === '[A-Z]' ? 'A' : unit).repeat(count)
    },
  )
}
