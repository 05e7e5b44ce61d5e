/**
 * Reads a JSON text into nodes with places, in one pass and without recursion. It also reads unfinished text: it reports
 * each mistake with its place and continues, so that completion works while a person types.
 */
import { type ArrayNode, decodeString, type JsonNode, type ObjectNode, type ScalarNode } from './nodes.ts'

/** The server refuses deeper texts (`src/wire/strict-json.ts`); one level is the envelope around the arguments. */
export const MAX_DEPTH = 63
const MAX_MISTAKES = 100

export type MistakeKind =
  | 'comma-expected'
  | 'comma-extra'
  | 'colon-expected'
  | 'key-expected'
  | 'value-expected'
  | 'bad-word'
  | 'bad-number'
  | 'bad-string'
  | 'string-open'
  | 'not-closed'
  | 'bad-close'
  | 'after-end'
  | 'too-deep'

export interface Mistake {
  readonly kind: MistakeKind
  readonly start: number
  readonly end: number
}

export interface Parsed {
  readonly text: string
  /** Absent for an empty text. */
  readonly root?: JsonNode
  /** Empty if the text is JSON. In order of place. */
  readonly mistakes: readonly Mistake[]
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Tabs and the like, which a string must escape, and escapes themselves. */
const SPECIAL = /[\\\p{Cc}]/u

type Open = ObjectNode | ArrayNode

export function parseText(text: string): Parsed {
  return new Reader(text).read()
}

class Reader {
  readonly #text: string
  readonly #mistakes: Mistake[] = []
  readonly #open: Open[] = []
  #at = 0
  #root: JsonNode | undefined
  /** True after a value, when only a comma or the end of the container may follow. */
  #complete = false
  /** Offset of a comma that no value has followed yet. */
  #comma = -1

  constructor(text: string) {
    this.#text = text
  }

  read(): Parsed {
    for (this.#space(); this.#at < this.#text.length; this.#space()) this.#token()
    this.#finish()
    return { text: this.#text, mistakes: this.#mistakes, ...(this.#root && { root: this.#root }) }
  }

  #token(): void {
    const char = this.#text[this.#at] as string
    const top = this.#open.at(-1)
    if (char === '}' || char === ']') this.#close(char)
    else if (char === ',') this.#takeComma(top)
    else if (!top && this.#root) this.#rest()
    else {
      if (top && this.#complete) this.#mistake('comma-expected', this.#at, this.#at + 1)
      if (top?.kind === 'object') this.#member(top, char)
      else this.#value(char)
    }
  }

  #member(top: ObjectNode, char: string): void {
    this.#comma = -1
    if (char !== '"') {
      const start = this.#at
      this.#word()
      if (this.#at === start) this.#at++
      this.#mistake('key-expected', start, this.#at)
      this.#complete = false
      this.#space()
      // `{a: 1}`: the value is read and dropped, so that one mistake gives one message.
      if (this.#text[this.#at] === ':') this.#colonAndValue(() => undefined)
      return
    }
    const key = this.#string()
    const member = { key: decodeString(key.raw), keyStart: key.start, keyEnd: key.end } as ObjectNode['members'][number]
    top.members.push(member)
    this.#space()
    if (this.#text[this.#at] !== ':') {
      this.#mistake('colon-expected', key.end, key.end + 1)
      this.#complete = true
      return
    }
    this.#colonAndValue((value) => {
      member.value = value
    })
  }

  #colonAndValue(take: (value: JsonNode) => void): void {
    const colon = this.#at++
    this.#space()
    const char = this.#text[this.#at]
    if (char === undefined || char === ',' || char === '}' || char === ']') {
      this.#mistake('value-expected', colon, colon + 1)
      this.#complete = true
      return
    }
    this.#begin(char, take)
  }

  #value(char: string): void {
    this.#comma = -1
    const top = this.#open.at(-1)
    this.#begin(char, (value) => {
      if (top?.kind === 'array') top.items.push(value)
      else this.#root = value
    })
  }

  #begin(char: string, take: (value: JsonNode) => void): void {
    this.#complete = true
    if (char === '{' || char === '[') this.#openContainer(char, take)
    else if (char === '"') take(this.#string())
    else {
      const start = this.#at
      this.#word()
      const node = this.#at > start ? this.#scalar(start, this.#text.slice(start, this.#at)) : undefined
      if (node) take(node)
      else if (this.#at === start) this.#mistake('value-expected', start, ++this.#at)
    }
  }

  #openContainer(char: '{' | '[', take: (value: JsonNode) => void): void {
    const place = { start: this.#at++, end: this.#text.length, closed: false }
    const node: Open = char === '{' ? { kind: 'object', ...place, members: [] } : { kind: 'array', ...place, items: [] }
    take(node)
    if (this.#open.length >= MAX_DEPTH) this.#skip(node)
    else {
      this.#open.push(node)
      this.#complete = false
    }
  }

  #scalar(start: number, raw: string): ScalarNode | undefined {
    const place = { start, end: this.#at, raw }
    if (raw === 'true' || raw === 'false') return { kind: 'boolean', ...place }
    if (raw === 'null') return { kind: 'null', ...place }
    if (NUMBER.test(raw)) return { kind: 'number', ...place }
    this.#mistake(/^[-+.\d]/.test(raw) ? 'bad-number' : 'bad-word', start, this.#at)
    return undefined
  }

  #string(): ScalarNode {
    const start = this.#at++
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined || char === '\n' || char === '\r') {
        this.#mistake('string-open', start, this.#at)
        break
      }
      this.#at += char === '\\' && this.#at + 1 < this.#text.length ? 2 : 1
      if (char === '"') {
        const raw = this.#text.slice(start, this.#at)
        if (SPECIAL.test(raw) && !isString(raw)) this.#mistake('bad-string', start, this.#at)
        break
      }
    }
    return { kind: 'string', start, end: this.#at, raw: this.#text.slice(start, this.#at) }
  }

  #close(char: string): void {
    const kind = char === '}' ? 'object' : 'array'
    if (this.#open.at(-1)?.kind !== kind) {
      const known = this.#open.some((node) => node.kind === kind)
      this.#mistake(this.#root && this.#open.length === 0 ? 'after-end' : 'bad-close', this.#at, this.#at + 1)
      // A bracket of an outer container ends the inner ones; any other is skipped.
      if (!known) {
        this.#at++
        return
      }
      for (let node = this.#open.at(-1); node && node.kind !== kind; node = this.#open.at(-1)) {
        node.end = this.#at
        this.#open.pop()
      }
    }
    if (this.#comma >= 0) this.#mistake('comma-extra', this.#comma, this.#comma + 1)
    this.#comma = -1
    const top = this.#open.pop() as Open
    top.end = ++this.#at
    top.closed = true
    this.#complete = true
  }

  #takeComma(top: Open | undefined): void {
    if (top) {
      if (!this.#complete) this.#mistake('comma-extra', this.#at, this.#at + 1)
      this.#comma = this.#at++
      this.#complete = false
    } else this.#rest()
  }

  /** Everything after the first value. */
  #rest(): void {
    this.#mistake(this.#root ? 'after-end' : 'value-expected', this.#at, this.#text.length)
    this.#at = this.#text.length
  }

  /** The content of a container that is too deep becomes no nodes, but its bytes stay. */
  #skip(node: Open): void {
    let depth = 1
    while (depth > 0 && this.#at < this.#text.length) {
      const char = this.#text[this.#at] as string
      if (char === '"') {
        this.#string()
        continue
      }
      if (char === '{' || char === '[') depth++
      else if (char === '}' || char === ']') depth--
      this.#at++
    }
    node.end = this.#at
    node.closed = depth === 0
    this.#mistake('too-deep', node.start, node.end)
  }

  #finish(): void {
    if (this.#open.length > 0) {
      const inner = this.#open.at(-1) as Open
      this.#mistake('not-closed', inner.start, inner.start + 1)
    } else if (!this.#root && this.#mistakes.length === 0) {
      this.#mistake('value-expected', 0, this.#text.length)
    }
  }

  /** Up to the next space or punctuation mark of JSON. */
  #word(): void {
    while (this.#at < this.#text.length && !' \t\n\r,:"{}[]'.includes(this.#text[this.#at] as string)) this.#at++
  }

  #space(): void {
    while (this.#at < this.#text.length && ' \t\n\r'.includes(this.#text[this.#at] as string)) this.#at++
  }

  #mistake(kind: MistakeKind, start: number, end: number): void {
    if (this.#mistakes.length < MAX_MISTAKES)
      this.#mistakes.push({ kind, start, end: Math.min(end, this.#text.length) })
  }
}

function isString(raw: string): boolean {
  try {
    JSON.parse(raw)
    return true
  } catch {
    return false
  }
}
