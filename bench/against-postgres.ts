/**
 * `npm run bench -- postgres --against <commit>`: calls on Postgres in this tree and in an earlier commit, alternately: on
 * one node, on two, and waiting for a slot.
 */
import { join } from 'node:path'
import { isPostgresMissing, type PostgresServer, startDebianPostgres } from './engines/debian-postgres.ts'
import type { Host } from './processes.ts'
import { summarise } from './statistics.ts'
import { engineRatio, type PostgresSample, paired, rateRatio, runJobs, walRatio } from './suites/postgres-samples.ts'
import { SUBMITTERS, startNodes } from './suites/postgres-shapes.ts'

const SHAPES = [
  { name: 'one node', database: 'one', nodes: 1, jobs: 15_000 },
  { name: 'two nodes', database: 'two', nodes: 2, jobs: 15_000 },
  { name: 'queued', database: 'queued', nodes: 1, queued: true, jobs: 5_000 },
] as const

const RATIOS = {
  'calls/s': rateRatio,
  'node CPU': (one: PostgresSample, other: PostgresSample) => one.cpuUs / other.cpuUs,
  'Postgres CPU': engineRatio,
  WAL: walRatio,
}

/** Prints what this tree has of the calls and costs of the other, as the median of the rounds and their middle half. */
export async function comparePostgres(tree: string, folder: string, quick: boolean): Promise<void> {
  const rounds = quick ? 4 : 13
  for (const shape of SHAPES) {
    const server = await startDebianPostgres(['ours', 'theirs'])
    if (isPostgresMissing(server)) throw new Error(`Nothing to compare on: ${server.missing}.`)
    const hosts: Host[][] = []
    try {
      const sides = [{ database: 'ours' }, { database: 'theirs', bench: join(tree, 'bench') }]
      for (const { database, bench } of sides)
        hosts.push(await startNodes(server, join(folder, shape.database), { ...shape, database }, bench))
      const [ours, theirs] = await runBoth(server, hosts, shape.jobs, rounds)
      const ratios = Object.entries(RATIOS).map(([name, ratio]) => `${name} ${shown(paired(ours, theirs, ratio))}`)
      console.log(`${shape.name}: ${ratios.join(', ')}`)
    } finally {
      await Promise.all(hosts.flat().map((host) => host.stop()))
      await server.stop()
    }
  }
}

async function runBoth(
  server: PostgresServer,
  hosts: readonly Host[][],
  jobs: number,
  rounds: number,
): Promise<[PostgresSample[], PostgresSample[]]> {
  const samples: [PostgresSample[], PostgresSample[]] = [[], []]
  const run = (side: number) => runJobs(hosts[side] ?? [], server, { jobs, submitters: SUBMITTERS })
  for (const side of [0, 1, 0, 1, 0, 1]) await run(side)
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) samples[side]?.push(await run(side))
  return samples
}

function shown(ratios: readonly number[]): string {
  const { median, low, high } = summarise(ratios)
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`
}
