/** Sends the ends of calls whose requests an earlier process received. */
import { Fault } from '../../../core/fault.ts'
import type { SendLateReply } from '../../../core/ports/late-replies.ts'
import { lateMessage, lateRefusal } from '../../../protocols/opencall/index.ts'
import type { WiredCarrier } from './wired.ts'

export function lateSender(sendLate: NonNullable<WiredCarrier['sendLate']>, origin: () => string): SendLateReply {
  return async (place, reply, signal) => {
    const { requestId } = reply
    try {
      await sendLate(place, lateMessage(reply, origin()), requestId, signal)
    } catch (thrown) {
      const fault = Fault.from(thrown)
      if (fault.retryable) throw fault
      // It may be too large. Then the caller learns that.
      await sendLate(place, lateRefusal(reply, fault), requestId, signal)
    }
  }
}
