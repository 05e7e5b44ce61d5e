/** What a suite is given and what it gives back. */
import type { Summary } from '../statistics.ts'

export interface Settings {
  quick: boolean
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
  /** Calls per CPU second against the comparison of the same round, median over the rounds; above 1 is better. */
  relative?: Summary
  /** Further figures, by name and unit. */
  figures?: Record<string, number>
}

export interface Goal {
  suite: string
  name: string
  goal: string
  measured: string
  met: boolean
}

export interface Findings {
  rows: Row[]
  goals: Goal[]
}

export type Suite = (settings: Settings) => Promise<Findings>
