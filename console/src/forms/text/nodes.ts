/** The values of a JSON text, each with its place in the text. Numbers and strings keep their source, so nothing is lost. */

/** A property name or an array index. */
export type PathStep = string | number
export type Path = readonly PathStep[]

interface Place {
  /** Offset of the first character. */
  start: number
  /** Offset after the last character. */
  end: number
}

export interface ScalarNode extends Place {
  readonly kind: 'string' | 'number' | 'boolean' | 'null'
  /** The source text, for a string with its quotes. */
  readonly raw: string
}

export interface Member {
  /** The name, with escapes decoded. */
  readonly key: string
  readonly keyStart: number
  readonly keyEnd: number
  /** Absent while a person types it. */
  value?: JsonNode
}

export interface ObjectNode extends Place {
  readonly kind: 'object'
  readonly members: Member[]
  /** Made at the first search, so that a form of thousands of properties stays linear. */
  byKey?: ReadonlyMap<string, Member>
  /** False if the text ends first. */
  closed: boolean
}

export interface ArrayNode extends Place {
  readonly kind: 'array'
  readonly items: JsonNode[]
  closed: boolean
}

export type JsonNode = ScalarNode | ObjectNode | ArrayNode

/** The member with this name. Of several, the last one, which is what `JSON.parse` takes. */
export function memberOf(node: ObjectNode, key: string): Member | undefined {
  node.byKey ??= new Map(node.members.map((member) => [member.key, member]))
  return node.byKey.get(key)
}

export function childOf(node: JsonNode | undefined, step: PathStep): JsonNode | undefined {
  if (node?.kind === 'object' && typeof step === 'string') return memberOf(node, step)?.value
  if (node?.kind === 'array' && typeof step === 'number') return node.items[step]
  return undefined
}

export function nodeAt(root: JsonNode | undefined, path: Path): JsonNode | undefined {
  let node = root
  for (const step of path) node = childOf(node, step)
  return node
}

/** The decoded text of a string node. An unfinished string gives what is there. */
export function stringOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? decodeString(node.raw) : undefined
}

export function decodeString(raw: string): string {
  if (!raw.includes('\\') && raw.length > 1 && raw.endsWith('"')) return raw.slice(1, -1)
  try {
    return JSON.parse(raw)
  } catch {
    // A person is typing it: the parser has reported the place.
    return raw.replace(/^"|"$/g, '')
  }
}

export function pointerOf(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The value as `JSON.parse` gives it. Numbers lose what a double cannot hold. */
export function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object': {
      const value: Record<string, unknown> = {}
      for (const { key, value: of } of node.members) {
        if (of)
          Object.defineProperty(value, key, {
            value: plainValue(of),
            enumerable: true,
            writable: true,
            configurable: true,
          })
      }
      return value
    }
    case 'array':
      return node.items.map(plainValue)
    case 'string':
      return decodeString(node.raw)
    case 'number':
      return Number(node.raw)
    case 'boolean':
      return node.raw === 'true'
    case 'null':
      return null
  }
}
