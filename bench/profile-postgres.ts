/** Profiles jobs on Postgres: the hand-written limit and Callplane, each with 256 submitters. */
import { isPostgresMissing, startDebianPostgres } from './engines/debian-postgres.ts'
import { type Host, startHost } from './processes.ts'
import { printProfileOf } from './profile.ts'
import { type PostgresSample, runJobs } from './suites/postgres-samples.ts'
import { startNode } from './suites/postgres-systems.ts'

const SUBMITTERS = 256
const WARM_UP_JOBS = 60_000
const JOBS = 80_000

export async function printPostgresProfiles(folder: string): Promise<void> {
  const server = await startDebianPostgres(['limit', 'callplane'])
  if (isPostgresMissing(server)) throw new Error(`Nothing to profile: ${server.missing}.`)
  const byHand = { system: 'postgres by hand', enginePort: server.port } as const
  const starts = [
    () => startHost('Postgres by hand', { contender: 'durable', durable: byHand }),
    () => startNode(server, folder, { name: 'callplane' }),
  ]
  try {
    for (const start of starts) {
      const host = await start()
      try {
        const run = (jobs: number) => runJobs([host], server, { jobs, submitters: SUBMITTERS })
        await run(WARM_UP_JOBS)
        await printJobs(host, run)
      } finally {
        await host.stop()
      }
    }
  } finally {
    await server.stop()
  }
}

async function printJobs(host: Host, run: (jobs: number) => Promise<PostgresSample>): Promise<void> {
  const { cpuUs, engineUs, walBytes, perSecond } = await run(JOBS)
  await host.ask('startProfile')
  await run(JOBS)
  const engine = `Postgres ${engineUs.toFixed(1)} µs, ${walBytes.toFixed(0)} bytes of WAL`
  await printProfileOf(host, `${perSecond.toFixed(0)} jobs/s, ${engine}`, cpuUs)
}
