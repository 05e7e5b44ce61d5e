/** The message about a call that a session would have sent, if its connection were still there. */
import type { Reply } from '../../../core/call/reply.ts'
import type { Fault } from '../../../core/fault.ts'
import { replyEnvelope } from '../addresses.ts'
import { encodeRefusal } from '../codec.ts'

export function lateMessage(reply: Reply, origin: string): string {
  return JSON.stringify(replyEnvelope(reply, { origin }))
}

/** In place of a message that cannot be sent, for this reason. */
export function lateRefusal({ requestId, sessionId }: Reply, why: Fault): string {
  return JSON.stringify(encodeRefusal(why, requestId, sessionId))
}
