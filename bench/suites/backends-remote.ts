/** A call of a remote tool through the engine, compared with the same request without it. Connections are kept open. */
import { join } from 'node:path'
import type { HostOptions } from '../host.ts'
import { type Host, startHost } from '../processes.ts'
import { added, medianUs, runWork } from '../work-rounds.ts'
import type { Findings, Settings } from './suite.ts'

const GOAL_US = 150
const CONCURRENCY = 16
const KINDS = ['http', 'external'] as const

export async function measureRemote({ quick, folder, say }: Settings): Promise<Findings> {
  const tool = await startHost('tool', { contender: 'tool' })
  const hosts: Host[] = []
  try {
    for (const backend of KINDS) {
      const common = { backend, toolPort: tool.port }
      const ways: [name: string, options: HostOptions][] = [
        [`${backend}: node:http`, { ...common, contender: 'direct', bare: true }],
        [`${backend}: the client alone`, { ...common, contender: 'direct' }],
        [`${backend}: through the engine`, { ...common, contender: 'governed', data: join(folder, backend) }],
      ]
      for (const [name, options] of ways) hosts.push(await startHost(name, options))
    }
    const rounds = quick ? 9 : 31
    say(`backends: ${rounds} rounds of ${hosts.length} ways to call a remote tool, ${CONCURRENCY} at a time`)
    const warmUpCalls = quick ? 5_000 : 20_000
    const samples = await runWork(hosts, {
      rounds,
      warmUpCalls,
      calls: quick ? 1_000 : 1_500,
      concurrency: CONCURRENCY,
    })
    const findings: Findings = { rows: [], goals: [] }
    for (const [index, kind] of KINDS.entries()) {
      const [bare = [], client = [], engine = []] = samples.slice(index * 3)
      const names = hosts.slice(index * 3).map(({ name }) => name)
      const over = added(engine, client)
      findings.rows.push(
        { suite: 'backends', contender: names[0] as string, cpuUs: medianUs(bare) },
        { suite: 'backends', contender: names[1] as string, cpuUs: medianUs(client) },
        {
          suite: 'backends',
          contender: names[2] as string,
          cpuUs: medianUs(engine),
          figures: { 'over the client µs': over.median, 'over node:http µs': added(engine, bare).median },
        },
      )
      findings.goals.push({
        suite: 'backends',
        name: `engine over ${kind}`,
        goal: `at most ${GOAL_US} µs of CPU per call more than the same request without it`,
        measured: `${over.median.toFixed(0)} µs (middle half ${over.low.toFixed(0)}–${over.high.toFixed(0)}, ${rounds} paired rounds)`,
        met: over.median <= GOAL_US,
      })
    }
    return findings
  } finally {
    await Promise.all([tool, ...hosts].map((process) => process.stop()))
  }
}
