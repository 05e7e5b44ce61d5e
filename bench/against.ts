/** `npm run bench -- --against <commit>`: this tree beside an earlier commit, in turns, on the same machine. */
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Host, startHost, startLoad } from './processes.ts'
import { ratios, runRounds } from './rounds.ts'
import { type Summary, summarise } from './statistics.ts'
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
    const results = [
      ['sync over HTTP', await overHttp('sync', 32, tree, folder, quick)],
      ['durable over HTTP', await overHttp('async', 64, tree, folder, quick)],
      ['durable in process', await inProcess(tree, folder, quick)],
    ] as const
    for (const [name, { median, low, high }] of results) {
      const verdict = median >= GOAL ? 'met' : 'NOT MET'
      const spread = `middle half ${low.toFixed(2)} to ${high.toFixed(2)}`
      console.log(`${name}: ${median.toFixed(3)} of ${commit} (${spread}); goal ${GOAL}: ${verdict}`)
    }
    return results.every(([, { median }]) => median >= GOAL)
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: ROOT })
  }
}

async function overHttp(
  traffic: TrafficName,
  connections: number,
  tree: string,
  folder: string,
  quick: boolean,
): Promise<Summary> {
  const load = startLoad()
  const hosts = await startBoth((name) => ({ contender: 'callplane', data: join(folder, `${traffic}-${name}`) }), tree)
  try {
    const [ours = [], theirs = []] = await runRounds(load, hosts, {
      rounds: quick ? 15 : 61,
      warmUpCalls: quick ? 5_000 : 40_000,
      durationMs: quick ? 100 : 300,
      connections,
      traffic,
    })
    return summarise(ratios(ours, theirs))
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}

async function inProcess(tree: string, folder: string, quick: boolean): Promise<Summary> {
  const durable = { system: 'callplane' } as const
  const hosts = await startBoth((name) => ({ contender: 'durable', durable, data: join(folder, `jobs-${name}`) }), tree)
  try {
    const calls = quick ? 2_000 : 10_000
    const rounds = { rounds: quick ? 15 : 48, warmUpCalls: calls * 3, calls, concurrency: 64 }
    const [ours = [], theirs = []] = await runWork(hosts, rounds)
    return summarise(ours.map(({ cpuUs }, round) => (theirs[round]?.cpuUs ?? Number.NaN) / cpuUs))
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

async function startBoth(optionsOf: (name: string) => Parameters<typeof startHost>[1], tree: string): Promise<Host[]> {
  return [
    await startHost('ours', optionsOf('ours')),
    await startHost('theirs', optionsOf('theirs'), undefined, join(tree, 'bench')),
  ]
}
