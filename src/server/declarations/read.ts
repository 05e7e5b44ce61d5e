/**
 * YAML text made values that JSON can hold, each with its place. The walk is our own instead of the library's `toJS`,
 * which knows no places, searches the whole document at every alias and takes `__proto__` for a key.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseAllDocuments, type YAMLError } from 'yaml'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Field, Located } from './located.ts'
import type { Place, Problems } from './problems.ts'

const MAX_DEPTH = 64
/** With aliases written out: a page of them can stand for gigabytes. */
const MAX_VALUES = 100_000
/** One missing bracket makes every line below it wrong. */
const MAX_SYNTAX_PROBLEMS = 5

/** The documents of one file; what cannot be read is reported and left out. */
export function readYaml(text: string, file: string, problems: Problems): Located[] {
  const lines = new LineCounter()
  // Keys that are there twice are found by the walk: the library compares each with each.
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`
  }
  const broken = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])
  // The first at each place: what follows from it would only be noise.
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
  return `This is no YAML: ${message}. Look at indentation, quotes and brackets.`
}

class Walk {
  readonly #placeOf: (offset: number) => Place
  readonly #problems: Problems
  /** In the order of the text, as YAML has it: an alias means the last one before it. */
  #anchors = new Map<string, Located | 'open'>()
  #values = 0
  /** A value is missing: judging what is around it would find what is not there. */
  #broken = false

  constructor(placeOf: (offset: number) => Place, problems: Problems) {
    this.#placeOf = placeOf
    this.#problems = problems
  }

  /** Nothing if it is empty or broken. */
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
      return this.#refuse(place, 'JSON knows no such number. Write a finite one.')
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
    if (name === undefined) this.#problems.add(place, 'A key must be a text. Write it as one word, or in quotes.')
    else if (name === '__proto__') this.#problems.add(place, '"__proto__" is a reserved name. Use another one.')
    else if (name === '<<') {
      this.#problems.add(
        place,
        '"<<" does not merge in YAML 1.2. Write the fields out, or give one whole value an alias.',
      )
    } else if (taken.has(name)) {
      this.#problems.add(
        place,
        `${quoted(name)} is here twice, first at ${taken.get(name)?.place}. Keep one of the two.`,
      )
    } else return name
    return undefined
  }

  #alias(name: string, place: Place): Located {
    const target = this.#anchors.get(name)
    if (target === undefined) return this.#refuse(place, `There is no anchor &${name} above. Write one, or the value.`)
    if (target === 'open') return this.#refuse(place, `*${name} stands inside what it means. Write the value out.`)
    this.#count(target.size, place)
    return { ...target, place }
  }

  #count(values: number, place: Place): void {
    if (this.#values > MAX_VALUES) return
    this.#values += values
    if (this.#values <= MAX_VALUES) return
    this.#broken = true
    this.#problems.add(place, `The file holds more than ${MAX_VALUES} values, aliases written out. Split it.`)
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

/** `1` and `true` are good names of properties, as they are written. */
function textOf(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value))
}

/** Texts of a file inside a message: short, and without what a terminal would obey. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text)
}
