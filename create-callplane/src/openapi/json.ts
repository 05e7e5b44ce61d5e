/** Unchecked values of a document. Only own members are read, because a document may use any name. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function member(value: unknown, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function objectAt(value: unknown, name: string): JsonObject {
  const found = member(value, name)
  return isObject(found) ? found : {}
}

export function listAt(value: unknown, name: string): readonly Json[] {
  const found = member(value, name)
  return Array.isArray(found) ? found : []
}

export function textAt(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' ? found : undefined
}
