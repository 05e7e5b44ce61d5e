/** What a suite is given and what it gives back. */
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
  /** Calls per CPU second over those of the limit in the same round, the median over the rounds; above 1 is better. */
  relative?: number
  /** Where the middle half of these ratios lies. */
  spread?: { low: number; high: number }
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
  met: boolean
}

export interface Findings {
  rows: Row[]
  goals: Goal[]
}

export type Suite = (settings: Settings) => Promise<Findings>
