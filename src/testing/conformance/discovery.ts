/** Records which operations have which roles on a server, which operations were left out, and why. */
import type { JsonObject } from '../../core/json.ts'
import type { Example, Parts, Target, Vacancy } from './case.ts'

export interface DiscoveryOptions {
  /** True to call operations with side effects that no example names. */
  sideEffects: boolean
}

export interface LeftOut {
  op: string
  /** Continues a sentence that starts with the name: "has side effects". */
  reason: string
  /** The option that would include it. */
  needs?: string
}

export interface Discovery {
  operations: Partial<Parts>
  examples: Readonly<Record<string, Example>>
  vacancies: Partial<Record<keyof Parts, Vacancy>>
  called: readonly string[]
  leftOut: readonly LeftOut[]
}

/** The server needs a token, or refuses the given one, so nothing can be checked. */
export class NeedsToken extends Error {
  override readonly name = 'NeedsToken'
  readonly hadToken: boolean

  constructor(hadToken: boolean) {
    super(hadToken ? 'The server refuses this token.' : 'The server needs a token.')
    this.hadToken = hadToken
  }
}

export class Casting {
  readonly #options: DiscoveryOptions
  readonly #operations: Partial<Parts>
  /** Roles that the caller has assigned. Discovery does not reassign them. */
  readonly #given: ReadonlySet<string>
  readonly #examples: Record<string, Example>
  readonly #vacancies: Partial<Record<keyof Parts, Vacancy>> = {}
  readonly #called: string[] = []
  readonly #leftOut: LeftOut[] = []
  readonly #hadToken: boolean
  #refused = false

  constructor({ operations = {}, examples = {}, token }: Target, options: DiscoveryOptions) {
    this.#hadToken = token !== undefined
    this.#options = options
    this.#operations = { ...operations }
    this.#given = new Set(Object.keys(operations))
    this.#examples = { ...examples }
  }

  /** A conformance run has no side effects by default. */
  mayCall(op: string, effects: 'none' | 'some' | 'unknown', parts: readonly (keyof Parts)[]): boolean {
    const named = this.#examples[op] !== undefined || Object.values(this.#operations).includes(op)
    if (effects === 'none' || this.#options.sideEffects || named) return true
    const reason = effects === 'some' ? 'has side effects' : 'may have side effects'
    this.#leftOut.push({ op, reason, needs: '--side-effects' })
    for (const part of parts) {
      this.#vacate(part, `${op} ${reason} and is called only with --side-effects or if --args names it.`)
    }
    return false
  }

  /** The first suitable operation gets the role. A better one may replace it. */
  cast(part: keyof Parts, op: string, better = false): void {
    if (this.#operations[part] === undefined || (better && !this.#given.has(part))) this.#operations[part] = op
  }

  plays(part: keyof Parts): string | undefined {
    return this.#operations[part]
  }

  called(op: string, args: JsonObject, example: Partial<Example> = {}): void {
    this.#called.push(op)
    this.#examples[op] = { args, ...this.#examples[op], ...example }
  }

  leaveOut(op: string, reason: string): void {
    this.#leftOut.push({ op, reason })
  }

  needArguments(op: string, why: string, parts: readonly (keyof Parts)[]): void {
    this.#leftOut.push({ op, reason: `refuses the arguments made from its schema (${why})`, needs: '--args' })
    for (const part of parts) this.#vacate(part, `${op} needs arguments: pass them with --args.`)
  }

  needToken(op: string, parts: readonly (keyof Parts)[]): void {
    this.#refused = true
    this.#leftOut.push({ op, reason: 'needs a token', needs: '--token' })
    for (const part of parts) this.#vacate(part, `${op} needs a token: pass it with --token.`)
  }

  #vacate(part: keyof Parts, reason: string): void {
    this.#vacancies[part] ??= { applicable: true, reason }
  }

  result(): Discovery {
    if (this.#operations.failing === undefined) {
      this.#vacate('failing', 'No call failed in its domain. Pass arguments that fail as "fails" in --args.')
    }
    if (this.#refused && this.#called.length === 0) throw new NeedsToken(this.#hadToken)
    return {
      operations: this.#operations,
      examples: this.#examples,
      vacancies: this.#vacancies,
      called: [...new Set(this.#called)],
      leftOut: this.#leftOut,
    }
  }
}
