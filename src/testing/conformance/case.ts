/** What a check is, what it is run against, and the ways it can end without being met. */
import type { HttpAnswer } from './exchange.ts'

/**
 * The parts that operations of the server play in the checks. `discover` finds them; a caller may name them instead, as
 * the protocol names operations.
 */
export interface Parts {
  /** Sync, without side effects, returns its result inline. */
  sync: string
  /** As `sync`, with another result. */
  second: string
  /** Rejects some arguments by its schema. */
  validated: string
  /** Can be called without arguments. */
  lenient: string
  /** Fails in its domain for the arguments `fails` of its example. */
  failing: string
  /** Runs in the background and is polled. */
  async: string
  /** Its result is fetched chunk by chunk. */
  chunked: string
  /** Its result is a file at an address of its own. */
  file: string
  /** Takes an attachment. */
  upload: string
  /** Sync, with side effects. */
  effect: string
  /** Deprecated, with a sunset still to come. */
  deprecated: string
  /** Past its sunset. */
  removed: string
  /** A version above 1. */
  successor: string
  /** OXP: has several versions side by side. */
  versions: string
}

/** What a caller knows about an operation: how to call it and, where it can be told, what comes of it. */
export interface Example {
  args: Record<string, unknown>
  /** The exact result. Without it a result only has to fit the published schema. */
  result?: unknown
  /** Arguments for which the operation fails in its domain, and the failure that is expected. */
  fails?: { args: Record<string, unknown>; code?: string; message?: string }
  /** Arguments whose result is smaller than one chunk. */
  small?: Record<string, unknown>
  /** Type and SHA-256 (hex) of a result that is fetched in chunks or as a file. */
  content?: { mimeType: string; sha256: string }
  /** About how long it takes. A call of half a second and more has to be seen pending. */
  takesMs?: number
  /** The member of the result that counts the effects so far. */
  counts?: string
  /** Whether the result has `bytes` and `sha256` of the attachment. */
  digest?: boolean
  /** Whether it is known to need a token. Otherwise an operation without scopes may be open to everybody. */
  guarded?: boolean
  /** OXP: full versions that are there side by side, each with another result. */
  versions?: readonly string[]
}

/** Why a part has no operation. */
export interface Vacancy {
  /** Whether the server has nothing of the kind, so that there is nothing to judge. */
  applicable: boolean
  reason: string
}

/** The server under test. */
export interface Target {
  /** Its root: `/call`, or `/tools/call`, is looked for under it. */
  url: string
  /** A bearer token that may call every operation named in `operations`. */
  token?: string
  /** A token of another caller with the same rights: what one caller did is not the other's to see. */
  otherToken?: string
  operations?: Partial<Parts>
  examples?: Readonly<Record<string, Example>>
  vacancies?: Partial<Record<keyof Parts, Vacancy>>
  /** Gets every request and its response. */
  observe?(answer: HttpAnswer): void
}

/** `must`: breaks clients that keep to the text. `should`: the text recommends it. `may`: a matter of taste. */
export type Level = 'must' | 'should' | 'may'

export interface ConformanceCase {
  id: string
  title: string
  /** The numbered requirements that are broken if this case fails. */
  requirements: readonly string[]
  level: Level
  /** Throws `Unmet` if the server does otherwise, and `Skip` if that cannot be judged on this server. */
  run(target: Target): Promise<void>
}

/** The case cannot be judged on this server; the message says why. */
export class Skip extends Error {
  override readonly name: string = 'Skip'
  /** What the person who runs the checks can add so that it can be judged. */
  readonly needs: string | undefined

  constructor(message: string, needs?: string) {
    super(message)
    this.needs = needs
  }
}

/** The server has nothing that this case is about. */
export class NotApplicable extends Skip {
  override readonly name = 'NotApplicable'
}

export interface UnmetDetails {
  /** Where it is not the level of the case. */
  level?: Level
  /** Where it is one of many that the case is about. */
  requirements?: readonly string[]
  /** The response that shows it. */
  answer?: HttpAnswer
}

/** The server does not do what the requirement says. */
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
