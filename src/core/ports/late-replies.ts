/** How a broker's carrier sends the end of a call whose connection is gone. */
import type { Reply } from '../call/reply.ts'
import type { JsonObject } from '../json.ts'

/**
 * Sends the end of a call to a place that this carrier stored with the call. Resolves when the broker has the message.
 * Rejects with a fault: `unavailable` if no message can be sent now, and not `retryable` if this one never can.
 */
export type SendLateReply = (place: JsonObject, reply: Reply, signal: AbortSignal) => Promise<void>

export interface LateReplies {
  /** From now on this server sends what is owed to addresses of this carrier. */
  add(carrier: string, send: SendLateReply): void
}
