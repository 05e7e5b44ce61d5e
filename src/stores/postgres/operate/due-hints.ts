/** Hints to all nodes that calls are due, such as those that a stopping node hands back. */
import type { WakeUps } from '../../../core/ports/store.ts'

/** No call has this id. */
const LINE = 'due'

export class DueHints implements WakeUps {
  readonly #tellAll: (line: string) => void
  readonly #listeners: (() => void)[] = []

  constructor(tellAll: (line: string) => void) {
    this.#tellAll = tellAll
  }

  send(): void {
    this.#tellAll(LINE)
  }

  receive(woken: () => void): void {
    this.#listeners.push(woken)
  }

  /** True if the line is such a hint. The sender hears its own, too. */
  heard(line: string): boolean {
    if (line !== LINE) return false
    this.wakeHere()
    return true
  }

  /** The same without a hint to others. */
  wakeHere(): void {
    for (const woken of this.#listeners) woken()
  }
}
