/** What a suite is given and what it gives back. */
import type { Interval } from '../statistics.ts'

export interface Settings {
  /** Short and few rounds, and of the sync and durable suites the main rows only. */
  quick: boolean
  /** Only to see that everybody answers right: one round of all rows, and no figures are written. */
  trial: boolean
  /** For whatever the servers store; removed at the end of the run. */
  folder: string
  say(line: string): void
}

export interface Row {
  suite: string
  contender: string
  /** The server's CPU time per call. */
  cpuUs?: number
  perSecond?: number
  /** Calls per CPU second over those of the limit; above 1 is better. */
  relative?: number
  /** Where the middle half of these ratios lies, in suites that compare round by round. */
  spread?: { low: number; high: number }
  /** The 95 % interval of `relative`, in suites that start every server several times. */
  interval?: { low: number; high: number }
  /** The contender that `relative` is about, where it is not the first of its suite. */
  limit?: string
  /** Further figures, by name and unit. */
  figures?: Record<string, number>
}

export interface Goal {
  suite: string
  name: string
  goal: string
  measured: string
  /** The figure and its interval, where the suite has one. */
  reached?: Interval
  met: boolean
}

export interface Findings {
  rows: Row[]
  goals: Goal[]
}

export type Suite = (settings: Settings) => Promise<Findings>
