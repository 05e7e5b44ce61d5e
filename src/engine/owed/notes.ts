/**
 * The stored notes about replies that are still owed. A note is written with the end of its call, or earlier if the
 * caller is told to wait. It is removed when the reply has reached its address. Any node that has the carrier may send
 * what a note says. docs/decisions/0018-owed-replies.md.
 */
import type { Digest } from '../../core/call/fingerprint.ts'
import type { Instance } from '../../core/call/instance.ts'
import type { ReplyAddress } from '../../core/call/reply-address.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RecordChange } from '../../core/ports/store.ts'

/** What is owed to one address. Two callers may wait for the same call under different request ids. */
export interface Note {
  /** The instance. */
  id: string
  requestId: string
  sessionId?: string
  place: JsonObject
  /** Until when a server tries to send it. */
  endsAt: number
  /** Another node is sending it until then. */
  claimedUntil?: number
}

/** The call, and the names by which the caller at the address knows it. */
export interface Owing {
  instance: Instance
  requestId: string
  sessionId?: string
}

/** An end is kept at least this long for its address, even if it can no longer be polled. */
export const LATE_MS = 600_000

const PREFIX = 'owed-reply/'

export function prefixOf(carrier: string): string {
  return `${PREFIX}${carrier}/`
}

export function keyOf(digest: Digest, { instance, requestId }: Owing, { carrier, place }: ReplyAddress): string {
  return `${prefixOf(carrier)}${instance.id}/${digest(JSON.stringify([requestId, place]))}`
}

export function noteOf({ instance, requestId, sessionId }: Owing, { place }: ReplyAddress, endsAt: number): Note {
  return { id: instance.id, requestId, ...(sessionId !== undefined && { sessionId }), place, endsAt }
}

/** The call under the request id of the caller that made it. */
export function owingOf(instance: Instance): Owing {
  const { requestId, sessionId } = instance
  return { instance, requestId, ...(sessionId !== undefined && { sessionId }) }
}

/**
 * The note to write with the end of a call. A call whose caller waits for the end directly has none: its message is not
 * acknowledged yet, so the broker delivers it again. If the process that ran the call is gone, there is a note for it,
 * too, because the broker may never deliver the message again.
 */
export function noteAtEnd(digest: Digest, instance: Instance, endedAt: number): RecordChange | undefined {
  const { replyTo } = instance.extras ?? {}
  if (!replyTo || (replyTo.direct && !wasCutOff(instance))) return undefined
  const owing = owingOf(instance)
  const expiresAt = keptForLate(instance.expiresAt, endedAt)
  return { key: keyOf(digest, owing, replyTo), value: JSON.stringify(noteOf(owing, replyTo, expiresAt)), expiresAt }
}

export function keptForLate(until: number, endedAt: number): number {
  return Math.max(until, endedAt + LATE_MS)
}

function wasCutOff({ attempt, settled }: Instance): boolean {
  return attempt > settled + 1
}
