/** The message about a call that a session would have sent, if its connection were still there. */
import type { Reply } from '../../../core/call/reply.ts'
import type { Fault } from '../../../core/fault.ts'
import type { Message } from '../../../core/ports/session.ts'
import { readText } from '../../../wire/messages/text.ts'
import { replyEnvelope } from '../addresses.ts'
import { encodeRefusal } from '../codec.ts'
import type { ResponseEnvelope } from '../wire.ts'

export function lateMessage(reply: Reply, origin: string): string {
  return JSON.stringify(replyEnvelope(reply, { origin }))
}

/** In place of a message of a session that cannot be sent, for this reason. */
export function refusalInPlaceOf(message: Message, why: Fault): string {
  const { requestId, sessionId } = JSON.parse(readText(message)) as ResponseEnvelope
  return JSON.stringify(encodeRefusal(why, requestId, sessionId))
}

/** In place of the message about this reply, which cannot be sent for this reason. */
export function lateRefusal({ requestId, sessionId }: Reply, why: Fault): string {
  return JSON.stringify(encodeRefusal(why, requestId, sessionId))
}
