/** What the effects say: which attempts ran where and when, and whose outcome was stored. */

import type { Happened } from '../disturb.ts'
import { type ChaosCall, isEnd } from '../history.ts'

export interface EffectLine {
  step: 'begin' | 'effect' | 'end'
  label: string
  key: string
  attempt: number
  by: string
  node: number
  atMs: number
}

/** Longer than a lease of 2 s leaves no time for an attempt to be taken away from a node that is well. */
const LEASE_MS = 2_000
const RECOVERY_MS = 10_000

export function attemptProblems(
  label: string,
  lines: readonly EffectLine[],
  calls: readonly ChaosCall[],
  faults: readonly Happened[],
): string[] {
  const begins = lines.filter(({ step }) => step === 'begin')
  return [...startedTwice(label, begins), ...fenceProblems(calls, begins), ...overlaps(label, lines, begins, faults)]
}

function startedTwice(label: string, begins: readonly EffectLine[]): string[] {
  const byAttempt = Map.groupBy(begins, ({ key, attempt }) => `${key} attempt ${attempt}`)
  return [...byAttempt]
    .filter(([, same]) => same.length > 1)
    .map(([which, same]) => `${label}: ${which} was started on nodes ${same.map(({ node }) => node).join(' and ')}`)
}

/** An attempt is handed out only while the call is open. So no attempt begins after the one whose outcome was stored. */
function fenceProblems(calls: readonly ChaosCall[], begins: readonly EffectLine[]): string[] {
  return calls.flatMap(({ requestId, label, sightings }) => {
    const end = sightings.find((seen) => isEnd(seen) && seen.state === 'complete')
    const { attempt = 0, key } = (end && parse(end.outcome)) ?? {}
    const latest = Math.max(0, ...begins.filter((begin) => begin.key === key).map((begin) => begin.attempt))
    return attempt > 0 && latest > attempt
      ? [`${requestId} (${label}) has the outcome of attempt ${attempt}, and attempt ${latest} had begun: no fence`]
      : []
  })
}

function parse(outcome: string | undefined): { attempt?: number; key?: string } | undefined {
  const value = JSON.parse(outcome ?? 'null')
  return typeof value === 'object' && value !== null ? value : undefined
}

/** Two attempts at the same time, although the node of the first one was well and had not held it for a lease. */
function overlaps(
  label: string,
  lines: readonly EffectLine[],
  begins: readonly EffectLine[],
  faults: readonly Happened[],
): string[] {
  return begins.flatMap((first) => {
    const end = lines.find(({ step, key, attempt }) => step === 'end' && key === first.key && attempt === first.attempt)
    const second = begins.find(({ key, attempt }) => key === first.key && attempt === first.attempt + 1)
    const laterMs = second ? second.atMs - first.atMs : -1
    // An attempt that was paused before it began is the earlier one, even if its times are later.
    if (!end || !second || second.atMs >= end.atMs || laterMs < 0 || laterMs > LEASE_MS / 2) return []
    const isExcused = faults.some(
      ({ place, node, fromMs, toMs }) =>
        (place === 'database' || node === first.node) && fromMs < second.atMs && toMs > first.atMs - RECOVERY_MS,
    )
    const nodes = `node ${first.node} and node ${second.node}`
    return isExcused
      ? []
      : [`${label} ran on ${nodes} at once, and both were well: attempts ${first.attempt} and ${second.attempt}`]
  })
}
