/** `npm run bench -- --against <commit>`: this tree beside an earlier commit, in turns, on the same machine. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { HostOptions } from './host.ts'
import { type Host, startHost, startLoad } from './processes.ts'
import { runRounds } from './rounds.ts'
import { fastestTenth, type Interval, ratioOfCosts } from './statistics.ts'
import type { TrafficName } from './traffic.ts'
import { runWork } from './work-rounds.ts'

const ROOT = join(import.meta.dirname, '..')
/** Of the calls per CPU second of the other commit. */
const GOAL = 0.95

/** Prints the ratio of calls per CPU second for sync and durable calls; says whether all reach the goal. */
export async function compareWith(commit: string, folder: string, quick: boolean): Promise<boolean> {
  const tree = join(folder, 'tree')
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree, commit], { cwd: ROOT })
  try {
    for (const at of ['', 'bench']) symlinkSync(join(ROOT, at, 'node_modules'), join(tree, at, 'node_modules'))
    const both = { tree, folder, ...(quick ? { processes: 3, windows: 10 } : { processes: 10, windows: 40 }) }
    const results = [
      ['sync over HTTP', await repeat(both, overHttp('sync', 32))],
      ['durable over HTTP', await repeat(both, overHttp('async', 64))],
      ['durable in process', await repeat(both, inProcess)],
    ] as const
    for (const [name, { value, low, high }] of results) {
      const verdict = low >= GOAL ? 'met' : high >= GOAL ? 'not certain' : 'NOT MET'
      const interval = `95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`
      console.log(`${name}: ${value.toFixed(3)} of ${commit} (${interval}); goal ${GOAL}: ${verdict}`)
    }
    return results.every(([, { low }]) => low >= GOAL)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: ROOT })
  }
}

interface Both {
  tree: string
  folder: string
  /** How many of each side are started, one pair after the other. */
  processes: number
  /** Short measurements in each, in turns. */
  windows: number
}

/** CPU time per call, window by window, of the two hosts. */
type Measure = (hosts: readonly Host[], windows: number) => Promise<number[][]>

async function repeat(
  { tree, folder, processes, windows }: Both,
  { host, measure }: { host: Omit<HostOptions, 'data'>; measure: Measure },
): Promise<Interval> {
  const ours: number[] = []
  const theirs: number[] = []
  for (let pair = 0; pair < processes; pair++) {
    const data = (name: string) => ({ ...host, data: mkdtempSync(join(folder, `${name}-`)) })
    const starts = [
      () => startHost('ours', data('ours')),
      () => startHost('theirs', data('theirs'), undefined, join(tree, 'bench')),
    ]
    const hosts: Host[] = []
    for (const at of pair % 2 === 0 ? [0, 1] : [1, 0]) hosts[at] = await (starts[at] as () => Promise<Host>)()
    try {
      const [own = [], other = []] = await measure(hosts, windows)
      ours.push(fastestTenth(own))
      theirs.push(fastestTenth(other))
    } finally {
      await Promise.all(hosts.map((each) => each.stop()))
    }
  }
  return ratioOfCosts(ours, theirs)
}

function overHttp(traffic: TrafficName, connections: number): { host: Omit<HostOptions, 'data'>; measure: Measure } {
  return {
    host: { contender: 'callplane' },
    async measure(hosts, rounds) {
      const load = startLoad()
      try {
        const options = { rounds, warmUpCalls: 40_000, durationMs: 50, connections, traffic }
        return (await runRounds(load, hosts, options)).map((samples) => samples.map(({ cpuUs }) => cpuUs))
      } finally {
        await load.stop()
      }
    },
  }
}

const inProcess: { host: Omit<HostOptions, 'data'>; measure: Measure } = {
  host: { contender: 'durable', durable: { system: 'callplane' } },
  async measure(hosts, rounds) {
    const samples = await runWork(hosts, { rounds, warmUpCalls: 30_000, calls: 2_000, concurrency: 64 })
    return samples.map((each) => each.map(({ cpuUs }) => cpuUs))
  },
}
