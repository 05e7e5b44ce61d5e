/** Calls in process with a growing number of operations, and with a growing number of stored instances. */
import { join } from 'node:path'
import type { GrowthCalls } from '../contenders/growth.ts'
import type { Repeated } from '../contenders/repeat.ts'
import { type Host, startHost } from '../processes.ts'
import { fillDatabase } from './growth-fill.ts'
import { type Growing, type GrowthPoint, MODELS, type Model, seriesFindings } from './growth-series.ts'
import type { Findings, Settings } from './suite.ts'

/** Calls in one round. Sync calls cost a fraction of durable ones. */
const CALLS: Readonly<Record<Model, GrowthCalls>> = {
  sync: { model: 'sync', calls: 50_000, concurrency: 64 },
  async: { model: 'async', calls: 3_000, concurrency: 64 },
}

const DAY_MS = 86_400_000

export function measureOperations(settings: Settings): Promise<Findings> {
  const sizes = settings.trial ? [10, 100] : [10, 100, 1_000, 10_000]
  return measureSizes('operations', sizes, settings, (operations, data) =>
    startHost(`${operations} operations`, { contender: 'growth', operations, data }),
  )
}

export function measureInstances(settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const sizes = trial ? [0, 1_000] : quick ? [0, 10_000, 100_000] : [0, 10_000, 100_000, 1_000_000]
  return measureSizes('stored instances', sizes, settings, async (instances, data) => {
    if (instances >= 100_000) say(`growth: storing ${instances.toLocaleString('en')} instances`)
    if (instances > 0) await fillDatabase(data, { instances, keepUntil: Date.now() + DAY_MS })
    return startHost(`${instances} stored instances`, { contender: 'growth', data })
  })
}

async function measureSizes(
  growing: Growing,
  sizes: readonly number[],
  { quick, trial, folder, say }: Settings,
  start: (size: number, data: string) => Promise<Host>,
): Promise<Findings> {
  const hosts: Host[] = []
  try {
    for (const size of sizes) hosts.push(await start(size, join(folder, `growth-${growing.replace(' ', '-')}-${size}`)))
    const rounds = trial ? 1 : quick ? 5 : 21
    say(`growth: ${rounds} rounds with ${sizes.map((size) => size.toLocaleString('en')).join(', ')} ${growing}`)
    const samples = await runModels(hosts, rounds, trial ? 0.02 : quick ? 0.3 : 1)
    const pointsOf = (model: Model): GrowthPoint[] =>
      sizes.map((size, at) => {
        const own = samples.map((round) => (round[at] as Record<Model, Repeated>)[model])
        const perSecond = own.map(({ elapsedMs }) => (CALLS[model].calls * 1000) / elapsedMs)
        return { size, cpuUs: own.map(({ cpuUs }) => cpuUs), perSecond }
      })
    return seriesFindings(growing, { sync: pointsOf('sync'), async: pointsOf('async') })
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

/** Indexed by round and host. */
async function runModels(hosts: readonly Host[], rounds: number, share: number) {
  const callEach = async (host: Host, times: number) => {
    const took = {} as Record<Model, Repeated>
    for (const model of MODELS) {
      const { calls, ...rest } = CALLS[model]
      took[model] = await host.ask<Repeated>('work', { ...rest, calls: Math.ceil(calls * times) })
      took[model].elapsedMs /= times
    }
    return took
  }
  for (const host of hosts) await callEach(host, share * 3)
  const samples: Record<Model, Repeated>[][] = []
  for (let round = 0; round < rounds; round++) {
    const own: Record<Model, Repeated>[] = []
    for (let turn = 0; turn < hosts.length; turn++) {
      const at = (round + turn) % hosts.length
      own[at] = await callEach(hosts[at] as Host, share)
    }
    samples.push(own)
  }
  return samples
}
