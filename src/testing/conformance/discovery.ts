/** Which operations play the parts on a server that was looked at, which were left out, and why. */
import type { JsonObject } from '../../core/json.ts'
import type { Example, Parts, Target, Vacancy } from './case.ts'

export interface DiscoveryOptions {
  /** Whether operations with side effects may be called although no example names them. */
  sideEffects: boolean
}

export interface LeftOut {
  op: string
  /** Follows the name: "has side effects". */
  reason: string
  /** The option with which it would be called. */
  needs?: string
}

export interface Discovery {
  operations: Partial<Parts>
  examples: Readonly<Record<string, Example>>
  vacancies: Partial<Record<keyof Parts, Vacancy>>
  called: readonly string[]
  leftOut: readonly LeftOut[]
}

/** The server wants a token, or a better one, before anything can be judged. */
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
  /** Parts that the caller has filled: nothing that is found takes their place. */
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

  /** A conformance run does no harm unless it is told to. */
  mayCall(op: string, effects: 'none' | 'some' | 'unknown', parts: readonly (keyof Parts)[]): boolean {
    const named = this.#examples[op] !== undefined || Object.values(this.#operations).includes(op)
    if (effects === 'none' || this.#options.sideEffects || named) return true
    const reason = effects === 'some' ? 'has side effects' : 'may have side effects'
    this.#leftOut.push({ op, reason, needs: '--side-effects' })
    for (const part of parts) {
      this.#vacate(part, `${op} ${reason} and is called only with --side-effects or in --args.`)
    }
    return false
  }

  /** The first that can play a part gets it; a better one may take it over. */
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
    for (const part of parts) this.#vacate(part, `${op} needs arguments of yours: --args.`)
  }

  needToken(op: string, parts: readonly (keyof Parts)[]): void {
    this.#refused = true
    this.#leftOut.push({ op, reason: 'needs a token', needs: '--token' })
    for (const part of parts) this.#vacate(part, `${op} needs a token: --token.`)
  }

  #vacate(part: keyof Parts, reason: string): void {
    this.#vacancies[part] ??= { applicable: true, reason }
  }

  result(): Discovery {
    if (this.#operations.failing === undefined) {
      this.#vacate('failing', 'No call of an operation failed in its domain. Give arguments as "fails" in --args.')
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
