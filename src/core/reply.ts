/** What the engine says about a call, before a protocol shapes it. */
import type { Fault } from './fault.ts'
import type { ExecutionModel, Progress, ResultLocation } from './instance.ts'
import type { JsonValue } from './json.ts'
import type { Questions } from './questions.ts'

interface ReplyBase {
  requestId: string
  sessionId?: string
  model: ExecutionModel
  /** Present where the instance is retained. */
  expiresAt?: number
  /** Once it has ended: how many tries that took, and how long. */
  usage?: Usage
}

export interface Usage {
  /** Which try the outcome is from; 1 is the first. */
  attempt: number
  durationMs: number
}

/** What the engine says of a call. A union, so that two outcomes at once cannot be written down. */
export type Reply =
  | (ReplyBase & {
      state: 'accepted' | 'pending'
      retryAfterMs: number
      progress?: Progress
      /** It is not run before this approval is given. */
      approvalId?: string
      /** It goes on once the caller has answered these. */
      questions?: Questions
    })
  | (ReplyBase & { state: 'complete'; result: JsonValue })
  | (ReplyBase & { state: 'complete'; location: ResultLocation })
  | (ReplyBase & { state: 'error'; fault: Fault })
