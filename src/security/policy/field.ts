/** Reads an unknown document field by field. Its errors give the file and line, and what to correct. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonValue } from '../../core/json.ts'

export type Path = readonly (string | number)[]

/** The source of a document. */
export interface Origin {
  /** A short name, for references to its rules. */
  name: string
  /** For example `policy.yaml:12`, as precise as possible. */
  placeOf(path: Path): string
}

export class Field {
  readonly value: unknown
  readonly path: Path
  readonly #origin: Origin

  constructor(value: unknown, origin: Origin, path: Path = []) {
    this.value = value
    this.path = path
    this.#origin = origin
  }

  refuse(problem: string): never {
    throw new Fault('policy-invalid', `${this.#origin.placeOf(this.path)}: ${nameOf(this.path)} ${problem}`)
  }

  at(step: string | number): Field {
    return new Field((this.value as Record<string | number, unknown>)[step], this.#origin, [...this.path, step])
  }

  /** Returns the members that are present. Refuses an unknown member, because it may be a misspelt restriction. */
  members<K extends string>(known: readonly K[]): Partial<Record<K, Field>> {
    const found = this.named()
    for (const [name, field] of Object.entries(found)) {
      if (!known.includes(name as K)) field.refuse(`is not a known field. Use one of ${known.join(', ')}.`)
    }
    return found as Partial<Record<K, Field>>
  }

  /** Returns the members with any names. A member that a TypeScript policy sets to undefined counts as absent. */
  named(): Record<string, Field> {
    if (!isJsonObject(this.value)) this.refuse('must be an object with fields.')
    const names = Object.keys(this.value).filter((name) => (this.value as Record<string, unknown>)[name] !== undefined)
    if (names.length === 0) this.refuse('is empty. Remove it, or add a field.')
    return Object.fromEntries(names.map((name) => [name, this.at(name)]))
  }

  items(): Field[] {
    if (!Array.isArray(this.value) || this.value.length === 0) this.refuse('must be a list with at least one entry.')
    return this.value.map((_, index) => this.at(index))
  }

  /** A single value counts as a list of one. */
  oneOrMore(): Field[] {
    return Array.isArray(this.value) ? this.items() : [this]
  }

  text(): string {
    if (typeof this.value === 'string' && this.value.trim() !== '') return this.value
    return this.refuse('must be a string. Put quotes around it if YAML reads it as another type.')
  }

  flag(): boolean {
    if (typeof this.value === 'boolean') return this.value
    return this.refuse('must be true or false.')
  }

  number(): number {
    if (typeof this.value === 'number' && Number.isFinite(this.value)) return this.value
    return this.refuse('must be a number.')
  }

  oneOf<T extends string>(choices: readonly T[]): T {
    if (choices.includes(this.value as T)) return this.value as T
    return this.refuse(`must be one of ${choices.join(', ')}${shown(this.value)}.`)
  }

  json(): JsonValue {
    const { value } = this
    if (Array.isArray(value)) for (const index of value.keys()) this.at(index).json()
    else if (typeof value === 'object' && value !== null) for (const name of Object.keys(value)) this.at(name).json()
    else if (typeof value === 'number') this.number()
    else if (value !== null && typeof value !== 'string' && typeof value !== 'boolean') this.refuse('must be JSON.')
    return value as JsonValue
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `, not "${value}"` : ''
}

/** For example `rules[2].what.risk`. */
function nameOf(path: Path): string {
  if (path.length === 0) return 'the policy'
  return path.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}
