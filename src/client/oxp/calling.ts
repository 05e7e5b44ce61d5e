/**
 * One call with its retries. Which `call_id` a repeat has decides whether the tool runs again: the same one joins the
 * call or is refused for free, and a new one runs the tool again.
 */
import type { Addresses } from './addresses.ts'
import { completeChallenges } from './challenges.ts'
import type { Deadline } from './deadline.ts'
import { OxpError } from './error.ts'
import type { Exchange } from './exchange.ts'
import type { OxpClientOptions, OxpProtocol, OxpResult } from './options.ts'
import { encodeCall, type ToolCall, versionHeader } from './requests.ts'
import { decodeAnswer } from './responses.ts'

export interface CallingParts {
  exchange: Exchange
  addresses: Addresses
  protocol: OxpProtocol
  sendVersion: boolean
  retries: number
  repeatLostCalls: boolean
  pollMs: number
  onChallenge: OxpClientOptions['onChallenge']
  revise: OxpClientOptions['revise']
}

/** A server that completes a challenge and asks again would otherwise go on forever. */
const MAX_CHALLENGE_ROUNDS = 3
const FIRST_BACKOFF_MS = 500
/** A server that is still running a tool cannot make the client ask without a pause. */
const MIN_JOIN_MS = 250

export class Calling {
  readonly #parts: CallingParts
  readonly #deadline: Deadline
  readonly #firstId: string
  #call: ToolCall
  #retries = 0
  #challengeRounds = 0

  constructor(parts: CallingParts, call: ToolCall, deadline: Deadline) {
    this.#parts = parts
    this.#call = call
    this.#firstId = call.callId
    this.#deadline = deadline
  }

  async run(): Promise<OxpResult> {
    for (;;) {
      try {
        return await this.#send()
      } catch (thrown) {
        if (!(thrown instanceof OxpError)) throw thrown
        const error = this.#about(thrown)
        if (!(await this.#prepareRepeat(error))) throw error
      }
    }
  }

  async #send(): Promise<OxpResult> {
    const { exchange, addresses, protocol, sendVersion } = this.#parts
    const answer = await exchange.send(`${addresses.base}/tools/call`, this.#deadline, {
      headers: versionHeader(protocol, sendVersion),
      body: encodeCall(this.#call, protocol, sendVersion),
    })
    return decodeAnswer(answer, this.#call, addresses)
  }

  /** Returns false if the error is final. */
  async #prepareRepeat(error: OxpError): Promise<boolean> {
    switch (error.code) {
      case 'MISSING_REQUIREMENTS':
        return this.#complete(error)
      case 'STILL_RUNNING':
        return error.canRetry && this.#join(error)
      case 'UNREACHABLE':
        return this.#parts.repeatLostCalls && this.#retry(error)
      case 'TOOL_FAILED':
        return error.canRetry && this.#runAgain(error)
      default:
        return error.canRetry && this.#retry(error)
    }
  }

  /** It joins the call, so it is no retry. Only the deadline limits it. */
  async #join(error: OxpError): Promise<boolean> {
    const delayMs = Math.max(MIN_JOIN_MS, error.retryAfterMs ?? FIRST_BACKOFF_MS)
    if (!this.#deadline.allows(delayMs)) return false
    await this.#wait(error, delayMs)
    return true
  }

  /** False if there is no challenge to complete, or no `onChallenge` to show it. */
  async #complete(error: OxpError): Promise<boolean> {
    const { exchange, onChallenge, pollMs } = this.#parts
    const { challenges, missingSecrets, needsUserId } = error
    if (!onChallenge || challenges.length === 0 || missingSecrets.length > 0 || needsUserId) return false
    if (this.#challengeRounds === MAX_CHALLENGE_ROUNDS) return false
    this.#challengeRounds++
    try {
      return await completeChallenges(challenges, { exchange, deadline: this.#deadline, onChallenge, pollMs })
    } catch (thrown) {
      // The call was refused, even if the challenge failed in another way.
      throw thrown instanceof OxpError ? this.#about(thrown).with({ outcome: 'refused' }) : thrown
    }
  }

  /**
   * The tool ran and failed. A server that knows the call id would return the same failure for it again, so the next
   * try has its own id. It is derived, so that a program that repeats the whole call meets the same tries.
   */
  async #runAgain(error: OxpError): Promise<boolean> {
    const { revise } = this.#parts
    const { input } = this.#call
    if (!this.#mayRetry(error)) return false
    const revised = revise ? await this.#deadline.within(Promise.resolve(revise(error, input))) : undefined
    if (revised === false || !(await this.#retry(error))) return false
    this.#call = { ...this.#call, input: revised ?? input, callId: `${this.#firstId}-retry-${this.#retries}` }
    return true
  }

  async #retry(error: OxpError): Promise<boolean> {
    if (!this.#mayRetry(error)) return false
    await this.#wait(error, this.#delayAfter(error))
    this.#retries++
    return true
  }

  /** False also if the deadline comes before the retry: the caller then learns the failure at once. */
  #mayRetry(error: OxpError): boolean {
    return this.#retries < this.#parts.retries && this.#deadline.allows(this.#delayAfter(error))
  }

  #delayAfter({ retryAfterMs }: OxpError): number {
    return retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** this.#retries
  }

  async #wait({ outcome }: OxpError, delayMs: number): Promise<void> {
    try {
      await this.#deadline.sleep(delayMs)
    } catch (thrown) {
      throw thrown instanceof OxpError ? this.#about(thrown).with({ outcome }) : thrown
    }
  }

  #about(error: OxpError): OxpError {
    const { toolId, callId } = this.#call
    return error.with({ toolId, callId })
  }
}
