/** Collects the problems of declared tools, with their places, and reports them together. */
import { Fault } from '../../core/fault.ts'

/** A position in the form that editors and terminals open: `tools/search.yaml:4:3`. */
export type Place = string

export interface Problem {
  place: Place
  message: string
}

const SHOWN = 50

export class Problems {
  readonly #found: Problem[] = []

  get count(): number {
    return this.#found.length
  }

  add(place: Place, message: string): void {
    this.#found.push({ place, message })
  }

  throwIfAny(): void {
    if (this.#found.length === 0) return
    const shown = this.#found.slice(0, SHOWN)
    const more = this.#found.length - shown.length
    const lines = shown.map(({ place, message }) => `\n  ${place}  ${message}`)
    const head = this.#found.length === 1 ? 'Fix the declaration' : `Fix ${this.#found.length} places in declarations`
    const rest = more > 0 ? `\n  and ${more} more` : ''
    throw new Fault('malformed', `${head}, then start again:${lines.join('')}${rest}`, {
      code: 'INVALID_DECLARATION',
      details: { problems: shown.map(({ place, message }) => ({ place, message })) },
    })
  }
}
