/** Applies every rule to the history of a run. It is pure but for the last look into the store. */
import { type History as CrashHistory, problemsIn } from '../../crash/history.ts'
import { children } from '../../crash/wishes.ts'
import type { Happened } from '../disturb.ts'
import type { ChaosCall, Decision, Reading } from '../history.ts'
import { attemptProblems, type EffectLine } from './attempts.ts'
import { beforeExpiry, expiryProblems, wentUnseen } from './expiry.ts'
import { connectionProblems, inOrder } from './order.ts'
import {
  clockProblems,
  decisionProblems,
  existenceProblems,
  grantProblems,
  lateProblems,
  ownerProblems,
  pushProblems,
  type Silence,
  streamProblems,
} from './promises.ts'

export interface Evidence {
  calls: readonly ChaosCall[]
  streams: readonly Reading[]
  decisions: readonly Decision[]
  /** The approvals that a person tried to give, with the label of their call. */
  approvalsAsked: readonly { id: string; label: string }[]
  silences: readonly Silence[]
  effects: readonly EffectLine[]
  faults: readonly Happened[]
}

export function problemsInEvidence(evidence: Evidence): string[] {
  const { calls, streams, decisions, approvalsAsked, silences, effects, faults } = evidence
  const callsOf = Map.groupBy(calls, ({ label }) => label)
  const linesOf = Map.groupBy(effects, ({ label }) => label)
  // Not by request id, because two callers may use the same one.
  const silencesOf = Map.groupBy(silences, ({ label }) => label)
  const approvals = Map.groupBy(approvalsAsked, ({ label }) => label)
  const isGrant = (label: string) => label.startsWith('grant-')
  return [
    ...problemsIn(
      withoutOldNews(
        calls.filter(({ kind }) => kind !== 'grant'),
        effects,
      ),
    ),
    ...calls.flatMap((call) => [
      ...connectionProblems(call),
      ...existenceProblems(call),
      ...expiryProblems(call),
      ...ownerProblems(call),
      ...clockProblems(call),
      ...pushProblems(call),
      ...lateProblems(
        call,
        linesOf.get(call.label) ?? [],
        faults,
        silencesOf.get(call.label)?.filter(({ requestId }) => requestId === call.requestId) ?? [],
      ),
    ]),
    ...[...linesOf].flatMap(([label, lines]) => attemptProblems(label, lines, callsOf.get(label) ?? [], faults)),
    ...[...linesOf]
      .filter(([label]) => isGrant(label))
      .flatMap(([label, lines]) =>
        grantProblems(label, lines, new Set(approvals.get(label)?.map(({ id }) => id)).size),
      ),
    ...decisionProblems(decisions, calls),
    ...streams.flatMap(streamProblems),
  ]
}

/** The rules of the crash tests, which take the observations of one client after the other. */
function withoutOldNews(calls: readonly ChaosCall[], lines: readonly EffectLine[]): CrashHistory {
  const ordered = calls.map(beforeExpiry).map((call) => ({ ...call, sightings: inOrder(call.sightings) }))
  const unseen = new Set(calls.filter(wentUnseen).map(({ label }) => label))
  const effects = lines
    .filter(({ step, label }) => step === 'effect' && !/^(?:look|grant|stream)-/.test(label) && !unseen.has(label))
    // A paused node takes its effect after the next attempt did. That is allowed; two effects of one attempt are not.
    .sort((a, b) => a.attempt - b.attempt)
  return { calls: [...ordered, ...children(ordered, effects)], effects }
}
