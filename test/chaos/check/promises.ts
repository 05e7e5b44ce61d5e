/** Rules about single calls that only a cluster can break: who sees what, and when. */

import type { Happened } from '../disturb.ts'
import { type ChaosCall, type Decision, isEnd, type Reading } from '../history.ts'
import { BRIEF_TTL_SECONDS } from '../load/retention.ts'
import type { EffectLine } from './attempts.ts'

/** Seconds for which the operations of a kind are kept. */
const TTL_SECONDS: Readonly<Record<string, number>> = {
  work: 86_400,
  order: 86_400,
  export: 86_400,
  charge: 7_200,
  brief: BRIEF_TTL_SECONDS,
}
/** Less than any wrong clock is wrong. */
const CLOCK_MS = 40_000

/** Nothing that a client knows to exist is gone, and nothing that was refused exists. */
export function existenceProblems({
  requestId,
  label,
  kind,
  acknowledged,
  refusedWith,
  sightings,
}: ChaosCall): string[] {
  const wasThere = sightings.some(({ state }) => state !== 'missing')
  return [
    (kind === 'mqtt' || kind === 'kafka') &&
      acknowledged &&
      !wasThere &&
      `${requestId} (${label}) is lost: its broker took it, and no node knows it`,
    refusedWith !== undefined && wasThere && `${requestId} (${label}) was refused with ${refusedWith}, and exists`,
  ].filter((problem) => typeof problem === 'string')
}

/** The result belongs to this call and this caller. */
export function ownerProblems({ requestId, label, caller, sightings }: ChaosCall): string[] {
  const end = sightings.find(({ state }) => state === 'complete')
  if (!end) return []
  const result = JSON.parse(end.outcome ?? 'null') as { label?: string; by?: string } | null
  return result?.label === label && result.by === caller
    ? []
    : [`${requestId} (${label} of ${caller}) has a result of another call: ${end.outcome}`]
}

/** Times are those of the database, so a wrong clock of a node does not affect them. */
export function clockProblems({ requestId, label, kind, madeMs, sightings }: ChaosCall): string[] {
  const ttlMs = (TTL_SECONDS[kind] ?? 0) * 1_000
  const last = sightings.at(-1)
  if (ttlMs === 0 || !last) return []
  const wrong = sightings.find(({ expiresAt, heardAt = 0, heardMs }) => {
    if (expiresAt === undefined) return false
    const [earliest, latest] = [madeMs, last.heardMs].map((ms) => heardAt + (ms - heardMs)) as [number, number]
    const madeAt = expiresAt * 1_000 - ttlMs
    return madeAt < earliest - CLOCK_MS || madeAt > latest + CLOCK_MS
  })
  if (!wrong) return []
  const offSeconds = Math.round(((wrong.expiresAt ?? 0) * 1_000 - ttlMs - (wrong.heardAt ?? 0)) / 1_000)
  return [`${requestId} (${label}) expires ${offSeconds} s off, as node ${wrong.node} says: a wrong clock`]
}

/** How late a waiting client may hear of an end when nothing is wrong. */
const LATE_MS = 7_500
const RECOVERY_MS = 12_000

export interface Silence {
  label: string
  requestId: string
  node: number
  fromMs: number
  toMs: number
}

/** A waiting client hears of the end soon, at every node. */
export function lateProblems(
  call: ChaosCall,
  lines: readonly EffectLine[],
  faults: readonly Happened[],
  silences: readonly Silence[],
): string[] {
  const endedMs = Math.max(0, ...lines.filter(({ step }) => step === 'end').map(({ atMs }) => atMs))
  const isQuiet = (untilMs: number) =>
    !faults.some(({ fromMs, toMs }) => fromMs < untilMs && toMs > endedMs - RECOVERY_MS)
  const isLate = (sentMs: number, heardMs: number) =>
    endedMs > 0 && sentMs < endedMs && heardMs - endedMs > LATE_MS && isQuiet(heardMs)
  const waits = call.sightings.filter((seen) => seen.via === 'wait' && isLate(seen.sentMs, seen.heardMs))
  const watches = silences.filter(({ fromMs, toMs }) => isLate(fromMs, toMs))
  return [
    ...waits.map(
      ({ node, heardMs }) =>
        `${call.requestId} (${call.label}): a client that waited at node ${node} heard of the end ${Math.round(heardMs - endedMs)} ms late`,
    ),
    ...watches.map(
      ({ node, toMs }) =>
        `${call.requestId} (${call.label}): events at node ${node} had no end ${Math.round(toMs - endedMs)} ms after it`,
    ),
  ]
}

/** A caller who has only the broker learns the end, and the same one as everybody else. */
export function pushProblems({ requestId, label, pushed, sightings, kind }: ChaosCall): string[] {
  if (kind !== 'mqtt' && kind !== 'kafka') return []
  const end = sightings.find(isEnd)
  const published = new Set(pushed.filter(isEnd).map(({ outcome }) => outcome))
  if (!end) return []
  if (published.size === 0) return [`${requestId} (${label}) has ended, and no end was published over ${kind}`]
  const other = [...published].find((outcome) => outcome !== end.outcome)
  return other === undefined ? [] : [`${requestId} (${label}): ${kind} says ${other}, a poll says ${end.outcome}`]
}

/** One decision counts, and the call does what it says. */
export function decisionProblems(decisions: readonly Decision[], calls: readonly ChaosCall[]): string[] {
  const byId = Map.groupBy(decisions, ({ id }) => id)
  const byLabel = Map.groupBy(decisions, ({ label }) => label)
  return [
    ...[...byId].flatMap(([id, all]) => {
      const verdicts = new Set(all.map(({ status }) => status).filter((status) => /approved|denied/.test(status)))
      return verdicts.size > 1 ? [`the approval ${id} (${all[0]?.label}) was ${[...verdicts].join(' and ')}`] : []
    }),
    ...calls.flatMap(({ requestId, label, kind, sightings }) => {
      const end = sightings.find(isEnd)
      const verdict = byLabel.get(label)?.find(({ status }) => /approved|denied/.test(status))?.status
      if (kind !== 'held' || !end || !verdict) return []
      const isDenied = end.outcome === 'APPROVAL_DENIED'
      return isDenied === (verdict === 'denied')
        ? []
        : [`${requestId} (${label}) was ${verdict} and ended as ${end.outcome}`]
    }),
  ]
}

/** A grant is for one call: no more calls ran than were approved. */
export function grantProblems(label: string, lines: readonly EffectLine[], asked: number): string[] {
  const runs = new Set(lines.filter(({ step }) => step === 'begin').map(({ key }) => key)).size
  return runs > asked ? [`${label} ran ${runs} times, and ${asked} approvals were given: a grant was used twice`] : []
}

/** The reason of a closed WebSocket has the code without the prefix of OpenCALL. */
const STREAM_MAY_FAIL_WITH = /^(?:PANIC_)?(?:STREAM_INTERRUPTED|READER_GONE)$/

/** Numbers go on where the reader asked for, without a gap; a complete stream was read completely. */
export function streamProblems({ label, requestId, over, connections, end }: Reading): string[] {
  const name = `the stream ${label} (${requestId}, ${over})`
  const seen = new Set(connections.flatMap(({ numbers }) => numbers))
  const last = Math.max(0, ...seen)
  return [
    ...connections.flatMap(({ after, numbers, wrong }) => {
      const gap = numbers.find((number, index) => number !== (numbers[index - 1] ?? after) + 1)
      return [
        gap !== undefined && `${name} has a gap: ${gap} came after ${numbers[numbers.indexOf(gap) - 1] ?? after}`,
        wrong > 0 && `${name} has ${wrong} frames of another stream or number`,
      ].filter((problem) => typeof problem === 'string')
    }),
    ...(end?.state === 'complete' && seen.size !== last
      ? [`${name} is complete, and ${last - seen.size} frames are missing`]
      : []),
    ...(end?.state === 'error' && !STREAM_MAY_FAIL_WITH.test(end.code ?? '')
      ? [`${name} failed with ${end.code}`]
      : []),
  ]
}
