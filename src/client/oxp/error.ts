/** The error of every failed call. It says whether the tool may have run, and has the text for a model. */
import type { ChallengeInfo } from './options.ts'

export type OxpCode =
  | 'TOOL_FAILED' // the tool ran and failed
  | 'STILL_RUNNING' // the tool runs on; a repeat with the same call id joins it
  | 'INVALID_INPUT' // `parameterErrors` says which parameters are wrong
  | 'MISSING_REQUIREMENTS' // the tool needs an authorization, a secret or a user id
  | 'CHALLENGE_FAILED' // the authorization was declined, or its state cannot be read
  | 'UNSAFE_CHALLENGE' // the server names an address that must not be shown or fetched
  | 'UNAUTHORIZED' // the server does not accept the credential
  | 'REFUSED' // any other refusal before the tool was called
  | 'SERVER_ERROR'
  | 'UNREACHABLE' // no response, or the connection broke
  | 'REDIRECTED'
  | 'NOT_OXP' // the response does not follow the protocol
  | 'WRONG_REPLY' // the response belongs to another call
  | 'RESPONSE_TOO_LARGE'
  | 'TIMED_OUT' // the deadline of the call passed
  | 'ABORTED' // the caller's signal

/** `refused`: the tool did not run. `failed`: it ran and failed. `unknown`: it may have run, and may still be running. */
export type OxpOutcome = 'refused' | 'failed' | 'unknown'

export interface OxpErrorFacts {
  code: OxpCode
  outcome: OxpOutcome
  toolId?: string | undefined
  callId?: string | undefined
  status?: number | undefined
  developerMessage?: string | undefined
  canRetry?: boolean | undefined
  retryAfterMs?: number | undefined
  additionalPromptContent?: string | undefined
  parameterErrors?: Readonly<Record<string, string>> | undefined
  challenges?: readonly ChallengeInfo[] | undefined
  missingSecrets?: readonly string[] | undefined
  needsUserId?: boolean | undefined
  cause?: unknown
}

/** A server could send megabytes. */
const MAX_MODEL_TEXT = 20_000

export class OxpError extends Error {
  override readonly name = 'OxpError'
  readonly code: OxpCode
  readonly outcome: OxpOutcome
  readonly toolId: string | undefined
  /** The id of the last try. */
  readonly callId: string | undefined
  /** The HTTP status, if a response came. */
  readonly status: number | undefined
  /** For the log. It is not for the user or a model. */
  readonly developerMessage: string | undefined
  /** True if the server says that a repeat may succeed. */
  readonly canRetry: boolean
  readonly retryAfterMs: number | undefined
  /** What the tool wants a model to know before it tries again. `forModel()` includes it. */
  readonly additionalPromptContent: string | undefined
  readonly parameterErrors: Readonly<Record<string, string>> | undefined
  /** Authorizations that a person has to complete. Their addresses are checked. */
  readonly challenges: readonly ChallengeInfo[]
  readonly missingSecrets: readonly string[]
  readonly needsUserId: boolean
  readonly #facts: OxpErrorFacts

  constructor(message: string, facts: OxpErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = facts.code
    this.outcome = facts.outcome
    this.toolId = facts.toolId
    this.callId = facts.callId
    this.status = facts.status
    this.developerMessage = facts.developerMessage
    this.canRetry = facts.canRetry ?? false
    this.retryAfterMs = facts.retryAfterMs
    this.additionalPromptContent = facts.additionalPromptContent
    this.parameterErrors = facts.parameterErrors
    this.challenges = facts.challenges ?? []
    this.missingSecrets = facts.missingSecrets ?? []
    this.needsUserId = facts.needsUserId ?? false
    this.#facts = facts
  }

  /** The same error with more facts. */
  with(more: Partial<OxpErrorFacts>): OxpError {
    return new OxpError(this.message, { ...this.#facts, ...more })
  }

  /** The text to give to a model: what failed, whether a repeat makes sense, and what the tool adds for the model. */
  forModel(): string {
    const parameters = Object.entries(this.parameterErrors ?? {}).map(([name, problem]) => `${name}: ${problem}`)
    const lines = [this.message, ...parameters, this.#advice(), this.additionalPromptContent ?? '']
    return lines
      .filter((line) => line !== '')
      .join('\n')
      .slice(0, MAX_MODEL_TEXT)
  }

  #advice(): string {
    if (this.canRetry) return 'Calling the tool again may help.'
    if (this.outcome === 'unknown') return 'The tool may have run. Check its effect before you call it again.'
    return this.code === 'TOOL_FAILED' ? 'Calling the tool again with the same input will not help.' : ''
  }
}
