/**
 * Puts what several clients saw of one call into an order. Two requests at the same time may be answered in any order,
 * so a response is old news only if its request was sent after a newer state had arrived.
 */
import { RANK } from '../../crash/history.ts'
import type { ChaosCall, Seen } from '../history.ts'

/** The sightings in the order in which they must make sense. Old news that may be old is left out. */
export function inOrder(sightings: readonly Seen[]): Seen[] {
  const byArrival = [...sightings].sort((a, b) => a.heardMs - b.heardMs)
  const kept: Seen[] = []
  let newest = 0
  for (const seen of byArrival) {
    const known = byArrival.filter(({ heardMs }) => heardMs < seen.sentMs).map(({ state }) => RANK[state])
    const isBehind = RANK[seen.state] < newest
    if (isBehind && RANK[seen.state] >= Math.max(0, ...known)) continue
    newest = Math.max(newest, RANK[seen.state])
    kept.push(seen)
  }
  return kept
}

/** States that came over one connection are in their order. Other connections do not change it. */
export function connectionProblems({ requestId, sightings }: ChaosCall): string[] {
  const connections = Map.groupBy(
    sightings.filter(({ connection }) => connection !== undefined),
    ({ connection }) => connection,
  )
  return [...connections].flatMap(([connection, seen]) =>
    seen.some(({ state }, index) => RANK[state] < RANK[seen[index - 1]?.state ?? 'missing'])
      ? [`${requestId} went back on ${connection}: ${seen.map(({ state }) => state).join(', ')}`]
      : [],
  )
}
