/** Where the lines of a large text are: offsets in typed arrays, so that five million lines take little memory. */

/** No row of the page is longer. A longer line continues in the next row. */
export const MAX_ROW = 2_000

export interface Row {
  text: string
  indent: number
  /** The row begins in the middle of a line. */
  continues: boolean
}

/** Rows of a text. They are found step by step, so that the page can draw in between. */
export interface RowSource {
  readonly count: number
  readonly isDone: boolean
  /** The rows of the characters before this offset are known. */
  readonly readTo: number
  /** Works through about this many characters. */
  step(characters: number): void
  row(index: number): Row
  /** The row that closes what this row opens. `undefined` if it opens nothing, or the end is not known yet. */
  closedBy(index: number): number | undefined
  /** The row that has the character at this offset. */
  rowAt(offset: number): number
}

const CONTINUES = 1
const COMMA = 2

export class LineIndex {
  #starts = new Uint32Array(1024)
  #ends = new Uint32Array(1024)
  #closes = new Uint32Array(1024)
  #indents = new Uint16Array(1024)
  #flags = new Uint8Array(1024)
  count = 0

  /** Adds a line, in as many rows as it needs. Returns the index of its first row. */
  add(start: number, end: number, indent: number, withComma = false): number {
    const first = this.count
    for (let from = start; from === start || from < end; from += MAX_ROW) {
      const to = Math.min(end, from + MAX_ROW)
      const isLast = to === end
      this.#push(from, to, indent, (from === start ? 0 : CONTINUES) | (withComma && isLast ? COMMA : 0))
    }
    return first
  }

  markComma(index: number): void {
    this.#flags[index] = (this.#flags[index] ?? 0) | COMMA
  }

  close(opening: number, closing: number): void {
    this.#closes[opening] = closing
  }

  start = (index: number) => this.#starts[index] ?? 0
  end = (index: number) => this.#ends[index] ?? 0
  indent = (index: number) => this.#indents[index] ?? 0
  continues = (index: number) => ((this.#flags[index] ?? 0) & CONTINUES) !== 0
  hasComma = (index: number) => ((this.#flags[index] ?? 0) & COMMA) !== 0
  closedBy = (index: number) => this.#closes[index] || undefined

  /** The last row that starts at or before the offset. */
  rowAt(offset: number): number {
    let [low, high] = [0, this.count - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.start(middle) <= offset) low = middle
      else high = middle - 1
    }
    return Math.max(0, low)
  }

  #push(start: number, end: number, indent: number, flags: number): void {
    const at = this.count++
    if (at === this.#starts.length) this.#grow()
    this.#starts[at] = start
    this.#ends[at] = end
    this.#indents[at] = Math.min(indent, 65_535)
    this.#flags[at] = flags
  }

  #grow(): void {
    const length = this.#starts.length * 2
    this.#starts = grown(this.#starts, new Uint32Array(length))
    this.#ends = grown(this.#ends, new Uint32Array(length))
    this.#closes = grown(this.#closes, new Uint32Array(length))
    this.#indents = grown(this.#indents, new Uint16Array(length))
    this.#flags = grown(this.#flags, new Uint8Array(length))
  }
}

function grown<T extends Uint32Array | Uint16Array | Uint8Array>(from: T, to: T): T {
  to.set(from)
  return to
}
