/** Calls over HTTP on a growing number of connections. The figure includes the server's cost of opening them. */
import { join } from 'node:path'
import { type Host, type Load, startHost, startLoad } from '../processes.ts'
import { measure, type Sample, warmUp } from '../rounds.ts'
import { type GrowthPoint, MODELS, type Model, seriesFindings } from './growth-series.ts'
import type { Findings, Settings } from './suite.ts'

const SIZES = [1, 10, 100, 1_000]
/** Long enough for a few dozen calls on every connection. */
const LONG_FROM = 1_000

export async function measureConnections({ quick, trial, folder, say }: Settings): Promise<Findings> {
  const load = startLoad()
  let host: Host | undefined
  try {
    host = await startHost('callplane', { contender: 'callplane', data: join(folder, 'growth-connections') })
    const rounds = trial ? 1 : quick ? 3 : 15
    const durationMs = trial ? 50 : quick ? 150 : 400
    say(`growth: ${rounds} rounds with ${SIZES.map((size) => size.toLocaleString('en')).join(', ')} connections`)
    const samples = await runSizes(load, host, rounds, durationMs, trial ? 0 : quick ? 5_000 : 20_000)
    const pointsOf = (model: Model): GrowthPoint[] =>
      SIZES.map((size, at) => {
        const own = samples[model].map((round) => round[at] as Sample)
        return { size, cpuUs: own.map(({ cpuUs }) => cpuUs), perSecond: own.map(({ perSecond }) => perSecond) }
      })
    return seriesFindings('connections', { sync: pointsOf('sync'), async: pointsOf('async') })
  } finally {
    await Promise.all([load.stop(), host?.stop()])
  }
}

/** Indexed by model, round and size. */
async function runSizes(load: Load, host: Host, rounds: number, shortMs: number, warmUpCalls: number) {
  const samples: Record<Model, Sample[][]> = { sync: [], async: [] }
  for (const traffic of MODELS) {
    await warmUp(load, host, warmUpCalls, { connections: 64, durationMs: shortMs, traffic })
    for (let round = 0; round < rounds; round++) {
      const own: Sample[] = []
      for (let turn = 0; turn < SIZES.length; turn++) {
        const at = (round + turn) % SIZES.length
        const connections = SIZES[at] as number
        const durationMs = connections >= LONG_FROM ? shortMs * 6 : shortMs
        own[at] = await measure(load, host, { connections, durationMs, traffic })
      }
      samples[traffic].push(own)
    }
  }
  return samples
}
