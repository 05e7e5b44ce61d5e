/** The input and output types of a suite. */
import type { Interval } from '../statistics.ts'

export interface Settings {
  /** Few and short rounds, and only the main rows of the sync and durable suites. */
  quick: boolean
  /** Only checks that all contenders reply correctly: one round of all rows, and no figures are written. */
  trial: boolean
  /** Folder for the servers' data; removed at the end of the run. */
  folder: string
  say(line: string): void
}

export interface Row {
  suite: string
  contender: string
  /** The engine that it stores its data in, with its build, where that decides about the figures. */
  engine?: string
  /** The server's CPU time per call. */
  cpuUs?: number
  perSecond?: number
  /** Calls per CPU second over those of the limit; above 1 is better. */
  relative?: number
  /** The middle half of these ratios, in suites that compare round by round. */
  spread?: { low: number; high: number }
  /** The 95 % interval of `relative`, in suites that start every server several times. */
  interval?: { low: number; high: number }
  /** The contender that `relative` refers to, if it is not the first of its suite. */
  limit?: string
  /** Further figures, by name and unit. */
  figures?: Record<string, number>
}

export interface Goal {
  suite: string
  name: string
  goal: string
  measured: string
  /** The figure and its interval, if the suite has one. */
  reached?: Interval
  met: boolean
}

export interface Findings {
  rows: Row[]
  goals: Goal[]
}

export type Suite = (settings: Settings) => Promise<Findings>
