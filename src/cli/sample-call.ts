/** A first call to paste: an operation that answers at once and has no effects, with arguments its schema would take. */
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Operation } from '../core/operation.ts'

export function sampleCall(operations: readonly Operation[]): { op: string; args: JsonObject } | undefined {
  const harmless = operations.find(
    ({ model, sideEffecting, media, deprecated }) =>
      model === 'sync' && !sideEffecting && !deprecated && !media.some((slot) => slot.required),
  )
  if (!harmless) return undefined
  const args = new Sampler().sample(harmless.schemas.args)
  return { op: harmless.name.full, args: isJsonObject(args) ? args : {} }
}

class Sampler {
  #count = 0

  sample(schema: JsonValue | undefined): JsonValue {
    if (!isJsonObject(schema)) return null
    if (schema.const !== undefined) return schema.const
    if (schema.default !== undefined) return schema.default
    for (const list of [schema.examples, schema.enum]) {
      if (Array.isArray(list) && list[0] !== undefined) return list[0]
    }
    for (const list of [schema.anyOf, schema.oneOf]) {
      if (Array.isArray(list) && list[0] !== undefined) return this.sample(list[0])
    }
    return this.#ofType(Array.isArray(schema.type) ? schema.type[0] : schema.type, schema)
  }

  #ofType(type: JsonValue | undefined, schema: JsonObject): JsonValue {
    switch (type) {
      case 'number':
      case 'integer':
        return Math.max(++this.#count, typeof schema.minimum === 'number' ? schema.minimum : 1)
      case 'boolean':
        return true
      case 'array':
        return []
      case 'object':
        return this.#object(schema)
      default:
        return type === 'null' ? null : 'text'
    }
  }

  #object({ properties, required }: JsonObject): JsonObject {
    const known = isJsonObject(properties) ? properties : {}
    const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
    return Object.fromEntries(names.map((name) => [name, this.sample(known[name])]))
  }
}
