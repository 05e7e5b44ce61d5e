/** Finds the targets of references inside one JSON Schema document: by pointer, anchor or `$id`. Fetches nothing. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { decodePointer, encodePointer } from '../../core/json-pointer.ts'
import { mapSubschemas } from './subschemas.ts'

export interface Target {
  /** The place in the document, which identifies the target. */
  readonly path: readonly string[]
  readonly schema: JsonValue
  /** The base address of references in the target. */
  readonly base: string
}

/** The base of a document without an `$id`. */
export const NO_BASE = 'schema:///'

export class References {
  readonly #root: JsonObject
  /** The places of resources by their address, and of anchors by address and name. */
  readonly #places = new Map<string, readonly string[]>()

  constructor(root: JsonObject) {
    this.#root = root
    this.#places.set(NO_BASE, [])
    this.#index(root, [], NO_BASE)
  }

  /** The root is reached by an empty path. `undefined` if the target is not in the document or is no schema. */
  resolve(reference: string, base: string): Target | undefined {
    const address = addressOf(reference, base)
    if (address === undefined) return undefined
    const at = address.indexOf('#')
    const [resource, fragment] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at + 1)]
    const isPointer = fragment === '' || fragment.startsWith('/')
    const start = this.#places.get(isPointer ? resource : `${resource}#${fragment}`)
    return start && this.#descend(isPointer ? [...start, ...decodePointer(fragment)] : start)
  }

  #descend(path: readonly string[]): Target | undefined {
    let schema: JsonValue = this.#root
    let base = baseOf(this.#root, NO_BASE)
    for (const key of path) {
      if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, key)) return undefined
      schema = (schema as JsonObject)[key] as JsonValue
      base = baseOf(schema, base)
    }
    return isJsonObject(schema) || typeof schema === 'boolean' ? { path, schema, base } : undefined
  }

  #index(schema: JsonValue, path: readonly string[], outer: string): void {
    if (!isJsonObject(schema)) return
    const base = baseOf(schema, outer)
    if (base !== outer) this.#add(base, path)
    for (const anchor of [schema.$anchor, schema.$dynamicAnchor]) {
      if (typeof anchor === 'string') this.#add(`${base}#${anchor}`, path)
    }
    mapSubschemas(schema, (inner, at) => {
      this.#index(inner, [...path, ...(at as readonly string[])], base)
      return inner
    })
  }

  #add(address: string, path: readonly string[]): void {
    if (!this.#places.has(address)) this.#places.set(address, path)
  }
}

export function pointerOf(path: readonly string[]): string {
  return encodePointer(path)
}

/** An `$id` with a fragment is an anchor of older dialects, and no address. */
export function baseOf(schema: JsonValue, outer: string): string {
  const id = isJsonObject(schema) ? schema.$id : undefined
  return typeof id === 'string' && !id.includes('#') ? (addressOf(id, outer) ?? outer) : outer
}

function addressOf(reference: string, base: string): string | undefined {
  // The usual case. It also works if the base is an address to which nothing can be relative, such as a URN.
  if (reference.startsWith('#')) return base + reference
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined
}
