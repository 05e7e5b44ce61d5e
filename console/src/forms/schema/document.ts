/**
 * One JSON Schema document: where its references lead. Only references inside the document are followed; nothing is
 * ever fetched. Draft 2020-12 is the default, draft 7 and older are read as `$schema` says.
 */

export type SchemaObject = { readonly [keyword: string]: unknown }
export type Schema = boolean | SchemaObject

/** Larger documents still work; references by name into the rest are then not found. */
const MAX_INDEXED = 200_000
/** Never requested: relative names need a base to be compared. */
const BASE = 'schema:/'

export class SchemaDocument {
  readonly root: Schema
  /** Before 2019-09, `$ref` hides the keywords beside it. */
  readonly refHidesSiblings: boolean
  readonly usesUnevaluated: boolean
  readonly #bases = new Map<object, string>()
  readonly #named = new Map<string, SchemaObject>()
  readonly #found = new Map<string, Schema | undefined>()

  constructor(root: unknown) {
    this.root = isSchema(root) ? root : true
    const dialect = isObject(root) && typeof root.$schema === 'string' ? root.$schema : ''
    this.refHidesSiblings = /draft-0[467]/.test(dialect)
    this.usesUnevaluated = this.#index()
  }

  /** The schema that a `$ref` in `from` names. `undefined` if it is outside of the document, or nowhere. */
  resolve(ref: string, from: SchemaObject): Schema | undefined {
    const base = this.#bases.get(from) ?? BASE
    const key = `${base} ${ref}`
    if (!this.#found.has(key)) this.#found.set(key, this.#search(ref, base))
    return this.#found.get(key)
  }

  #search(ref: string, base: string): Schema | undefined {
    const target = absolute(ref, base)
    if (target === undefined) return undefined
    const named = this.#named.get(target)
    if (named) return named
    const [resource = '', fragment = ''] = splitAt(target, '#')
    const start = resource === BASE ? this.root : this.#named.get(resource)
    if (start === undefined || fragment === '') return start
    return fragment.startsWith('/') ? followPointer(start, fragment) : undefined
  }

  /** Collects `$id` and anchors without recursion. Returns whether a keyword needs to know what was evaluated. */
  #index(): boolean {
    let unevaluated = false
    const open: [value: unknown, base: string][] = [[this.root, BASE]]
    for (let count = 0; open.length > 0 && count < MAX_INDEXED; count++) {
      const [value, outer] = open.pop() as [unknown, string]
      if (typeof value !== 'object' || value === null || this.#bases.has(value)) continue
      let base = outer
      if (isObject(value)) {
        const id = value.$id
        if (typeof id === 'string' && !id.startsWith('#')) {
          base = splitAt(absolute(id, outer) ?? outer, '#')[0] as string
          if (!this.#named.has(base)) this.#named.set(base, value)
        }
        for (const anchor of [value.$anchor, value.$dynamicAnchor, anchorId(id)]) {
          if (typeof anchor === 'string') this.#named.set(`${base}#${anchor}`, value)
        }
        unevaluated ||= value.unevaluatedProperties !== undefined || value.unevaluatedItems !== undefined
      }
      this.#bases.set(value, base)
      for (const inner of Object.values(value)) if (typeof inner === 'object') open.push([inner, base])
    }
    return unevaluated
  }
}

/** Draft 7 and older name a place with `$id: "#name"`. */
function anchorId(id: unknown): string | undefined {
  return typeof id === 'string' && id.startsWith('#') ? id.slice(1) : undefined
}

function followPointer(start: Schema, pointer: string): Schema | undefined {
  let at: unknown = start
  for (const part of pointer.slice(1).split('/')) {
    const name = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return isSchema(at) ? at : undefined
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function absolute(ref: string, base: string): string | undefined {
  if (ref.startsWith('#')) return `${base}${ref === '#' ? '' : ref}`
  return URL.canParse(ref, base) ? new URL(ref, base).href.replace(/#$/, '') : undefined
}

function splitAt(text: string, by: string): [string, string?] {
  const at = text.indexOf(by)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isObject(value)
}

/** The schemas of a keyword with a list of schemas. */
export function schemaList(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

/** The own entries of a keyword with named schemas. Names such as `__proto__` are names like any other. */
export function schemaMap(value: unknown): [string, Schema][] {
  return isObject(value) ? Object.entries(value).filter((entry): entry is [string, Schema] => isSchema(entry[1])) : []
}

export function ownSchema(value: unknown, name: string): Schema | undefined {
  if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
  const found = value[name]
  return isSchema(found) ? found : undefined
}

export function nameList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
