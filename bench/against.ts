/**
 * `npm run bench -- --against <commit>`: compares this tree with an earlier commit, alternately, on the same machine.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { measureFresh } from './fresh-processes.ts'
import type { HostOptions } from './host.ts'
import { type Host, startHost } from './processes.ts'
import { fastestTenth, type Interval, ratioOfCosts } from './statistics.ts'
import type { TrafficName } from './traffic.ts'
import { runWork } from './work-rounds.ts'

const ROOT = join(import.meta.dirname, '..')
/** Share of the other commit's calls per CPU second that this tree must reach. */
const GOAL = 0.95

/** Runs `compare` with a checkout of the commit. */
export async function withTree<T>(commit: string, folder: string, compare: (tree: string) => Promise<T>): Promise<T> {
  const tree = join(folder, 'tree')
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree, commit], { cwd: ROOT })
  try {
    for (const at of ['', 'bench']) symlinkSync(join(ROOT, at, 'node_modules'), join(tree, at, 'node_modules'))
    return await compare(tree)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: ROOT })
  }
}

/** Prints the ratio of calls per CPU second for sync and durable calls. Returns true if all ratios reach the goal. */
export function compareWith(commit: string, folder: string, quick: boolean): Promise<boolean> {
  return withTree(commit, folder, async (tree) => {
    const both = { tree, folder, ...(quick ? { generations: 3, windows: 10 } : { generations: 10, windows: 40 }) }
    const results = [
      ['sync over HTTP', await overHttp(both, 'sync', 32)],
      ['durable over HTTP', await overHttp(both, 'async', 64)],
      ['durable in process', await inProcess(both)],
    ] as const
    for (const [name, { value, low, high }] of results) {
      const verdict = low >= GOAL ? 'met' : high >= GOAL ? 'not certain' : 'NOT MET'
      const interval = `95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`
      console.log(`${name}: ${value.toFixed(3)} of ${commit} (${interval}); goal ${GOAL}: ${verdict}`)
    }
    return results.every(([, { low }]) => low >= GOAL)
  })
}

interface Both {
  tree: string
  folder: string
  /** Number of processes started for each side, one pair after the other. */
  generations: number
  /** Short measurements in each process; the two sides alternate. */
  windows: number
}

async function overHttp(
  { tree, folder, generations, windows }: Both,
  traffic: TrafficName,
  connections: number,
): Promise<Interval> {
  const costs = await measureFresh(
    [
      { name: 'ours', traffic, start: () => startSide('ours', { contender: 'callplane' }, folder) },
      { name: 'theirs', traffic, start: () => startSide('theirs', { contender: 'callplane' }, folder, tree) },
    ],
    {
      generations,
      windows,
      windowMs: 50,
      connections,
      // The helper threads that write durable calls need the core that polling would take.
      polls: traffic === 'sync',
      warmUpCalls: 40_000,
      warmUpCpuMs: 4_000,
      say: () => {},
    },
  )
  return ratioOfCosts(costs.get('ours') ?? [], costs.get('theirs') ?? [])
}

async function inProcess({ tree, folder, generations, windows }: Both): Promise<Interval> {
  const options: HostOptions = { contender: 'durable', durable: { system: 'callplane' } }
  const ours: number[] = []
  const theirs: number[] = []
  for (let pair = 0; pair < generations; pair++) {
    const hosts: Host[] = []
    try {
      const starts = [() => startSide('ours', options, folder), () => startSide('theirs', options, folder, tree)]
      for (const at of pair % 2 === 0 ? [0, 1] : [1, 0]) hosts[at] = await (starts[at] as () => Promise<Host>)()
      const work = { rounds: windows, warmUpCalls: 30_000, calls: 2_000, concurrency: 64 }
      const [own = [], other = []] = await runWork(hosts, work)
      ours.push(fastestTenth(own.map(({ cpuUs }) => cpuUs)))
      theirs.push(fastestTenth(other.map(({ cpuUs }) => cpuUs)))
    } finally {
      await Promise.all(hosts.map((host) => host.stop()))
    }
  }
  return ratioOfCosts(ours, theirs)
}

/** `tree` defaults to this tree. */
function startSide(name: string, options: HostOptions, folder: string, tree = ROOT): Promise<Host> {
  const data = mkdtempSync(join(folder, `${name}-`))
  return startHost(name, { ...options, data }, undefined, join(tree, 'bench'))
}
