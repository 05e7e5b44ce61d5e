/** The goals on Postgres, as data, and whether they were met. */
import { summarise } from '../statistics.ts'
import { engineRatio, paired, rateRatio, type Series, walRatio } from './postgres-samples.ts'
import { LIMIT, NATS, OURS, POSTGRES_PEERS } from './postgres-systems.ts'
import type { Goal } from './suite.ts'

export const GOALS = {
  /** Of the limit's jobs per second. */
  ofLimit: 0.6,
  /** Times the limit's CPU time of Postgres, and its WAL bytes. */
  cpuOfLimit: 1.3,
  walOfLimit: 1.3,
  /** Times the jobs per second of others, at 256 submitters. */
  ofPeers: 12,
  ofNats: 2.5,
  twoNodes: 1.2,
  queued: 0.5,
  heldSnapshot: 0.9,
  heldQueued: 0.4,
  /** Times the limit's p99 at 1,000 a second. */
  pacedP99: 1.5,
  /** Times the CPU time of a call without stored calls. As in the suite `growth`. */
  flat: 1.15,
  expiryP99: 1.5,
  /** Seconds beyond the lease after which a killed node's calls have ended. */
  takeOverS: 10,
  acrossNodes: 2,
  idlePerSecond: 1,
} as const

/** A ratio of round pairs that must reach `least`, or stay within `most`. */
export interface RatioGoal {
  suite: string
  name: string
  of: string
  ratios: readonly number[]
  least?: number
  most?: number
}

export function ratioGoal({ suite, name, of, ratios, least, most }: RatioGoal): Goal {
  const { median, low, high } = summarise(ratios)
  const rounds = `middle half ${low.toFixed(2)}–${high.toFixed(2)} of ${ratios.length} rounds`
  return {
    suite,
    name,
    goal: least === undefined ? `at most ${most} × ${of}` : `at least ${least} × ${of}`,
    measured: ratios.length === 1 ? median.toFixed(2) : `${median.toFixed(2)} (${rounds})`,
    met: least === undefined ? median <= (most ?? Number.NaN) : median >= least,
  }
}

/** The many submitters, at which the other systems are compared. */
const MANY = 256

export function rateGoals(suite: string, submitters: number, samples: ReadonlyMap<string, Series>): Goal[] {
  const ours = samples.get(OURS) ?? []
  const against = (other: string, ratio: typeof rateRatio) => paired(ours, samples.get(other) ?? [], ratio)
  const name = (what: string) => `${what}, ${submitters} submitters`
  const goals = [
    ratioGoal({
      suite,
      name: name('durable calls'),
      of: 'the jobs/s of the hand-written limit',
      ratios: against(LIMIT, rateRatio),
      least: GOALS.ofLimit,
    }),
    ratioGoal({
      suite,
      name: name("Postgres's CPU time per call"),
      of: 'that of the limit',
      ratios: against(LIMIT, engineRatio),
      most: GOALS.cpuOfLimit,
    }),
    ratioGoal({
      suite,
      name: name('WAL bytes per call'),
      of: 'those of the limit',
      ratios: against(LIMIT, walRatio),
      most: GOALS.walOfLimit,
    }),
  ]
  if (submitters !== MANY) return goals
  const others = [...POSTGRES_PEERS.map((peer) => [peer, GOALS.ofPeers] as const), [NATS, GOALS.ofNats] as const]
  for (const [other, least] of others) {
    const ratios = against(other, rateRatio)
    if (ratios.length > 0)
      goals.push(ratioGoal({ suite, name: name('durable calls'), of: `the jobs/s of ${other}`, ratios, least }))
  }
  return goals
}
