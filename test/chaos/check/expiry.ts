/** Calls that are kept briefly are gone after their time, and never before. */
import type { ChaosCall, Seen } from '../history.ts'
import { BRIEF_TTL_SECONDS } from '../load/retention.ts'

const TTL_MS = BRIEF_TTL_SECONDS * 1_000
/** Nodes know the clock of the database to within this. */
const SLACK_MS = 1_000
/** A response may be made late, by a node that was paused. */
const LATE_MS = 10_000

/** True if the call may have expired at this time. It was accepted at `madeMs` or later. */
export function mayBeGone({ kind, madeMs }: ChaosCall, atMs: number): boolean {
  return kind === 'brief' && atMs >= madeMs + TTL_MS - SLACK_MS
}

/** The call as if it had not expired: without the responses that its expiry explains. */
export function beforeExpiry(call: ChaosCall): ChaosCall {
  const isExplained = ({ state, heardMs }: Seen) => state === 'missing' && mayBeGone(call, heardMs)
  const before = call.sightings.filter((seen) => !isExplained(seen))
  if (before.length === call.sightings.length || before.length === 0) return call
  return { ...call, sightings: before, gone: true }
}

/** True if the client heard nothing of the call before it may have expired. Then the call may have run unseen. */
export function wentUnseen(call: ChaosCall): boolean {
  const { sightings } = call
  return (
    sightings.every(({ state }) => state === 'missing') && sightings.some(({ heardMs }) => mayBeGone(call, heardMs))
  )
}

export function expiryProblems({ requestId, label, kind, sightings }: ChaosCall): string[] {
  const alive = sightings.filter(({ state }) => state !== 'missing')
  const acceptedMs = Math.min(...alive.map(({ heardMs }) => heardMs))
  const late = alive.find(({ sentMs }) => sentMs > acceptedMs + TTL_MS + LATE_MS)
  if (kind !== 'brief' || !late) return []
  const afterMs = Math.round(late.sentMs - acceptedMs - TTL_MS)
  return [`${requestId} (${label}) is still there ${afterMs} ms after its expiry, at node ${late.node}`]
}
