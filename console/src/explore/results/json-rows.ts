/**
 * JSON text as indented rows, without parsing it: large numbers and the order of keys stay as they came, and the page
 * draws while 50 MB are being read. The text must be JSON; other text gives rows that make no sense, but no failure.
 */
import { endOfString } from '../wires/json-slice.ts'
import { LineIndex, type Row, type RowSource } from './line-index.ts'

const OPENS = new Set(['{', '['])
/** The end of a number or a word. */
const DELIMITER = /[\s,\]}]/g

export class JsonRows implements RowSource {
  readonly #text: string
  readonly #lines = new LineIndex()
  readonly #open: number[] = []
  #at = 0
  isDone = false

  constructor(text: string) {
    this.#text = text
  }

  get count(): number {
    return this.#lines.count
  }

  get readTo(): number {
    return this.isDone ? Number.POSITIVE_INFINITY : this.#at
  }

  rowAt(offset: number): number {
    return this.#lines.rowAt(offset)
  }

  closedBy(index: number): number | undefined {
    return this.#lines.closedBy(index)
  }

  step(characters: number): void {
    const until = this.#at + characters
    while (this.#at < until && !this.isDone) this.#takeOne()
  }

  row(index: number): Row {
    const lines = this.#lines
    const text = this.#text.slice(lines.start(index), lines.end(index))
    const continues = lines.continues(index)
    const comma = lines.hasComma(index) ? ',' : ''
    return { text: (continues ? text : spaced(text)) + comma, indent: lines.indent(index), continues }
  }

  /** One line: an opening with its key, a value with its key, or a closing. */
  #takeOne(): void {
    const text = this.#text
    const start = this.#skip(this.#at)
    if (start >= text.length) {
      this.isDone = true
      return
    }
    const first = text[start] as string
    if (first === ',') {
      this.#lines.markComma(this.#lines.count - 1)
      this.#at = start + 1
      return
    }
    if (first === '}' || first === ']') {
      this.#close(start)
      return
    }
    const value = first === '"' ? this.#valueAfter(start) : start
    if (OPENS.has(text[value] as string)) {
      this.#opening(start, value)
      return
    }
    const end = text[value] === '"' ? endOfString(text, value) : this.#endOfWord(value)
    this.#lines.add(start, Math.max(end, start + 1), this.#open.length)
    this.#at = Math.max(end, start + 1)
  }

  #opening(start: number, bracket: number): void {
    const after = this.#skip(bracket + 1)
    const next = this.#text[after]
    if (next === '}' || next === ']') {
      this.#lines.add(start, after + 1, this.#open.length)
      this.#at = after + 1
      return
    }
    this.#open.push(this.#lines.add(start, bracket + 1, this.#open.length))
    this.#at = bracket + 1
  }

  #close(start: number): void {
    const opened = this.#open.pop()
    const closing = this.#lines.add(start, start + 1, this.#open.length)
    if (opened !== undefined) this.#lines.close(opened, closing)
    this.#at = start + 1
  }

  /** Where the value of this key begins, or the string itself if it is no key. */
  #valueAfter(start: number): number {
    const colon = this.#skip(endOfString(this.#text, start))
    return this.#text[colon] === ':' ? this.#skip(colon + 1) : start
  }

  #endOfWord(start: number): number {
    DELIMITER.lastIndex = start
    return DELIMITER.exec(this.#text)?.index ?? this.#text.length
  }

  #skip(from: number): number {
    let at = from
    while (at < this.#text.length && this.#text.charCodeAt(at) <= 32) at++
    return at
  }
}

/** Puts exactly one space after the colon of a key. */
function spaced(text: string): string {
  if (text[0] !== '"') return text
  const end = endOfString(text, 0)
  const found = /^\s*:\s*/.exec(text.slice(end, end + 1_000))
  return found ? `${text.slice(0, end)}: ${text.slice(end + found[0].length)}` : text
}
