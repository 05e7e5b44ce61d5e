/** The engine's reply to a call. Each protocol encodes it in its own format. */
import type { Fault } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { ExecutionModel, Progress, ResultLocation, StreamState } from './instance.ts'
import type { Questions } from './questions.ts'

interface ReplyBase {
  requestId: string
  sessionId?: string
  model: ExecutionModel
  /** Present if the instance is retained. */
  expiresAt?: number
  /** Present once the call has ended. */
  usage?: Usage
}

export interface Usage {
  /** The number of the try that produced the outcome; 1 is the first. */
  attempt: number
  durationMs: number
}

/** A call that has not ended. */
interface Unended extends ReplyBase {
  retryAfterMs: number
  progress?: Progress
  /** The call does not run before this approval is given. */
  approvalId?: string
  /** The call continues once the caller has answered these. */
  questions?: Questions
}

/** The state of a call. A union, so that a reply cannot have two outcomes. */
export type Reply =
  | (Unended & { state: 'accepted' | 'pending' })
  | (Unended & { state: 'streaming'; stream: StreamReply })
  | (ReplyBase & { state: 'complete'; result: JsonValue })
  | (ReplyBase & { state: 'complete'; location: ResultLocation })
  | (ReplyBase & { state: 'error'; fault: Fault })

export interface StreamReply extends Omit<StreamState, 'awaited' | 'names'> {
  /** Lets one reader connect, once. Only in the reply to the call itself. */
  ticket?: { value: string; expiresAt: number }
}
