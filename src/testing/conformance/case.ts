/** Types of a conformance case: the server under test, the roles of its operations, and the errors that end a case. */
import type { HttpAnswer } from './exchange.ts'

/**
 * The roles of the server's operations in the checks. `discover` finds the operations. A caller can name them instead,
 * as the protocol names operations.
 */
export interface Parts {
  /** Sync, without side effects, returns its result inline. */
  sync: string
  /** Like `sync`, with another result. */
  second: string
  /** Its schema rejects some arguments. */
  validated: string
  /** Can be called without arguments. */
  lenient: string
  /** Fails in its domain with the arguments in `fails` of its example. */
  failing: string
  /** Runs in the background and is polled. */
  async: string
  /** Its caller subscribes to frames. */
  stream: string
  /** Its result is fetched chunk by chunk. */
  chunked: string
  /** Its result is a file with its own URL. */
  file: string
  /** Takes an attachment. */
  upload: string
  /** Sync, with side effects. */
  effect: string
  /** Deprecated, with a sunset in the future. */
  deprecated: string
  /** Past its sunset. */
  removed: string
  /** A version above 1. */
  successor: string
  /** OXP: has several versions side by side. */
  versions: string
}

/** How to call an operation and, if known, what it returns. */
export interface Example {
  args: Record<string, unknown>
  /** The exact result. Without it, a result only has to match the published schema. */
  result?: unknown
  /** Arguments that make the operation fail in its domain, and the expected failure. */
  fails?: { args: Record<string, unknown>; code?: string; message?: string }
  /** Arguments whose result is smaller than one chunk. */
  small?: Record<string, unknown>
  /** Type and SHA-256 (hex) of a result that is fetched in chunks or as a file. */
  content?: { mimeType: string; sha256: string }
  /** Approximate duration. A call of half a second or more must be seen pending. */
  takesMs?: number
  /** Name of the result's member that counts the effects so far. */
  counts?: string
  /** True if the result has `bytes` and `sha256` of the attachment. */
  digest?: boolean
  /** True if it is known to need a token. An operation without scopes may otherwise be public. */
  guarded?: boolean
  /** OXP: full versions that are served side by side, each with another result. */
  versions?: readonly string[]
}

/** Why no operation has a role. */
export interface Vacancy {
  /** False if the server has no such operation, so that there is nothing to check. */
  applicable: boolean
  reason: string
}

/** The server under test. */
export interface Target {
  /** Its root URL. `/call` or `/tools/call` is below it. */
  url: string
  /** A bearer token that may call every operation named in `operations`. */
  token?: string
  /** Token of another caller with the same rights, to check that callers cannot see each other's calls. */
  otherToken?: string
  operations?: Partial<Parts>
  examples?: Readonly<Record<string, Example>>
  vacancies?: Partial<Record<keyof Parts, Vacancy>>
  /** What the cases of one run have read and share, by name: half of their requests would read the registry again. */
  shared?: Map<string, Promise<unknown>>
  /** Called with every request and its response. */
  observe?(answer: HttpAnswer): void
}

/**
 * `must`: a failure breaks clients that follow the specification. `should`: the specification recommends it. `may`:
 * optional.
 */
export type Level = 'must' | 'should' | 'may'

export interface ConformanceCase {
  id: string
  title: string
  /** The numbered requirements that a failure of this case breaks. */
  requirements: readonly string[]
  level: Level
  /** True if other cases would disturb it: it counts effects, or it sends many requests at once. */
  alone?: true
  /** Throws `Unmet` if the server fails the case, and `Skip` if the case cannot be checked on this server. */
  run(target: Target): Promise<void>
}

/** The case cannot be checked on this server. The message says why. */
export class Skip extends Error {
  override readonly name: string = 'Skip'
  /** The option that would make the check possible. */
  readonly needs: string | undefined

  constructor(message: string, needs?: string) {
    super(message)
    this.needs = needs
  }
}

/** The server does not have the feature that this case checks. */
export class NotApplicable extends Skip {
  override readonly name = 'NotApplicable'
}

export interface UnmetDetails {
  /** Overrides the level of the case. */
  level?: Level
  /** Overrides the requirements of the case. */
  requirements?: readonly string[]
  /** The response that shows the failure. */
  answer?: HttpAnswer
}

/** The server does not meet the requirement. */
export class Unmet extends Error {
  override readonly name = 'Unmet'
  readonly level: Level | undefined
  readonly answer: HttpAnswer | undefined
  readonly requirements: readonly string[] | undefined

  constructor(message: string, { level, answer, requirements }: UnmetDetails = {}) {
    super(message)
    this.level = level
    this.requirements = requirements
    this.answer = answer
  }
}
