/**
 * Turns YAML into JSON values with their places. It walks the tree itself instead of calling the library's `toJS`,
 * which has no places, searches the whole document at every alias and accepts `__proto__` as a key.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseAllDocuments, type YAMLError } from 'yaml'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Field, Located } from './located.ts'
import type { Place, Problems } from './problems.ts'

const MAX_DEPTH = 64
/** Counted with aliases expanded: one page of aliases can stand for gigabytes. */
const MAX_VALUES = 100_000
/** One missing bracket breaks every line below it. */
const MAX_SYNTAX_PROBLEMS = 5

/** Returns the documents of one file. Unreadable documents are reported and left out. */
export function readYaml(text: string, file: string, problems: Problems): Located[] {
  const lines = new LineCounter()
  // The walk finds duplicate keys: the library's check is quadratic.
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`
  }
  const broken = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])
  // Only the first error at each place: the others follow from it.
  const byPlace = new Map(broken.toReversed().map((error) => [placeOf(error.pos[0]), error]))
  const shown = [...byPlace].toReversed().slice(0, MAX_SYNTAX_PROBLEMS)
  for (const [place, error] of shown) problems.add(place, describeError(error))
  if (broken.length > 0) return []
  const walk = new Walk(placeOf, problems)
  return documents.flatMap(({ contents }) => walk.document(contents) ?? [])
}

function describeError({ code, message }: YAMLError): string {
  if (code === 'RESOURCE_EXHAUSTION') return `This nests deeper than ${MAX_DEPTH} levels. Declare it flatter.`
  if (code === 'TAG_RESOLVE_FAILED') return `${message}. Declarations are plain JSON values: leave the tag out.`
  return `This is not valid YAML: ${message}. Check indentation, quotes and brackets.`
}

class Walk {
  readonly #placeOf: (offset: number) => Place
  readonly #problems: Problems
  /** Filled in document order, as YAML requires: an alias means the last anchor of that name before it. */
  #anchors = new Map<string, Located | 'open'>()
  #values = 0
  /** True if a value is missing. Checking the rest would then report false problems. */
  #broken = false

  constructor(placeOf: (offset: number) => Place, problems: Problems) {
    this.#placeOf = placeOf
    this.#problems = problems
  }

  /** `undefined` if the document is empty or invalid. */
  document(contents: unknown): Located | undefined {
    this.#anchors = new Map()
    this.#broken = false
    const located = this.#read(contents, 0, 0)
    return this.#broken || located.value === null ? undefined : located
  }

  #read(node: unknown, depth: number, fallback: number): Located {
    const offset = rangeOf(node) ?? fallback
    const place = this.#placeOf(offset)
    if (this.#values > MAX_VALUES) return this.#missing(place)
    if (depth > MAX_DEPTH) return this.#refuse(place, `This nests deeper than ${MAX_DEPTH} levels. Declare it flatter.`)
    if (isAlias(node)) return this.#alias(node.source, place)
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined
    if (anchor !== undefined) this.#anchors.set(anchor, 'open')
    const located = this.#content(node, place, depth, offset)
    if (anchor !== undefined) this.#anchors.set(anchor, located)
    return located
  }

  #content(node: unknown, place: Place, depth: number, offset: number): Located {
    this.#count(1, place)
    if (isMap(node)) return this.#object(node.items, place, depth, offset)
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#read(item, depth + 1, offset))
      return { value: items.map(({ value }) => value), place, size: sizeOf(items), items }
    }
    const value = isScalar(node) ? node.value : null
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return this.#refuse(place, 'JSON has no such number. Write a finite number.')
    }
    return { value: value as JsonValue, place, size: 1 }
  }

  #object(pairs: readonly Pair[], place: Place, depth: number, offset: number): Located {
    const fields = new Map<string, Field>()
    const value: JsonObject = {}
    for (const { key, value: content } of pairs) {
      const keyAt = rangeOf(key) ?? offset
      const keyPlace = this.#placeOf(keyAt)
      const name = this.#key(key, keyPlace, fields)
      if (name === undefined) continue
      const located = this.#read(content, depth + 1, keyAt)
      fields.set(name, { place: keyPlace, content: located })
      value[name] = located.value
    }
    return { value, place, size: sizeOf([...fields.values()].map(({ content }) => content)), fields }
  }

  #key(key: unknown, place: Place, taken: ReadonlyMap<string, Field>): string | undefined {
    const name = isScalar(key) && key.value !== null ? textOf(key.value, key.source) : undefined
    if (name === undefined) this.#problems.add(place, 'A key must be a string. Write it as one word, or in quotes.')
    else if (name === '__proto__') this.#problems.add(place, '"__proto__" is a reserved name. Use another name.')
    else if (name === '<<') {
      this.#problems.add(
        place,
        '"<<" does not merge in YAML 1.2. Write the fields out, or use an alias for the whole value.',
      )
    } else if (taken.has(name)) {
      this.#problems.add(
        place,
        `${quoted(name)} is a duplicate key, first used at ${taken.get(name)?.place}. Keep one of the two.`,
      )
    } else return name
    return undefined
  }

  #alias(name: string, place: Place): Located {
    const target = this.#anchors.get(name)
    if (target === undefined)
      return this.#refuse(place, `There is no anchor &${name} above. Add the anchor, or write the value.`)
    if (target === 'open')
      return this.#refuse(place, `*${name} refers to a value that contains it. Write the value out.`)
    this.#count(target.size, place)
    return { ...target, place }
  }

  #count(values: number, place: Place): void {
    if (this.#values > MAX_VALUES) return
    this.#values += values
    if (this.#values <= MAX_VALUES) return
    this.#broken = true
    this.#problems.add(place, `The file has more than ${MAX_VALUES} values with aliases expanded. Split it.`)
  }

  #refuse(place: Place, message: string): Located {
    this.#problems.add(place, message)
    return this.#missing(place)
  }

  #missing(place: Place): Located {
    this.#broken = true
    return { value: null, place, size: 1 }
  }
}

function sizeOf(parts: readonly Located[]): number {
  return parts.reduce((sum, { size }) => sum + size, 1)
}

function rangeOf(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) || isAlias(node) ? node.range?.[0] : undefined
}

/** `1` and `true` are valid property names, as written. */
function textOf(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value))
}

/** Quotes text of a file for a message: shortened, and with control characters escaped. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
}
