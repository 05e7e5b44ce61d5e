/** Lines of plain text as rows. */
import { LineIndex, type Row, type RowSource } from './line-index.ts'

export class TextRows implements RowSource {
  readonly #text: string
  readonly #lines = new LineIndex()
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

  step(characters: number): void {
    const until = this.#at + characters
    while (this.#at < until && !this.isDone) {
      const found = this.#text.indexOf('\n', this.#at)
      const end = found < 0 ? this.#text.length : found
      this.#lines.add(this.#at, this.#text[end - 1] === '\r' && end > this.#at ? end - 1 : end, 0)
      this.#at = end + 1
      // The line end of the last line begins no further line.
      this.isDone = this.#at >= this.#text.length
    }
  }

  row(index: number): Row {
    const { start, end, continues } = this.#lines
    return { text: this.#text.slice(start(index), end(index)), indent: 0, continues: continues(index) }
  }

  closedBy(): undefined {}

  rowAt(offset: number): number {
    return this.#lines.rowAt(offset)
  }
}
