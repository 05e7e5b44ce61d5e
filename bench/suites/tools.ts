/** The same sync call through each protocol that a server speaks, against OpenCALL. */
import { join } from 'node:path'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { summarise } from '../statistics.ts'
import type { TrafficName } from '../traffic.ts'
import type { Suite } from './suite.ts'

const GOAL = 1.1
const CONNECTIONS = 32

/** Each on a server of its own, so that the compiler sees one protocol at a time. The first is what others are held against. */
const WAYS: readonly { name: string; traffic: TrafficName }[] = [
  { name: 'POST /call', traffic: 'sync' },
  { name: 'POST /tools/call', traffic: 'tools' },
  { name: 'POST /tools/{name}/call', traffic: 'rest' },
]

export const tools: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  try {
    for (const [index, { name }] of WAYS.entries()) {
      const data = join(folder, `tools-${index}`)
      hosts.push(await startHost(name, { contender: 'callplane', validator: 'ajv', data }))
    }
    const rounds = quick ? 7 : 101
    say(`tools: ${rounds} rounds of ${WAYS.length} protocols, ${CONNECTIONS} connections`)
    const samples = await runRounds(load, hosts, {
      rounds,
      warmUpCalls: quick ? 10_000 : 50_000,
      durationMs: quick ? 200 : 300,
      connections: CONNECTIONS,
      trafficOf: (host) => WAYS[hosts.indexOf(host)]?.traffic ?? 'sync',
    })
    const [reference = [], ...others] = samples
    const rowOf = (name: string, own: readonly Sample[]) => ({
      suite: 'tools',
      contender: name,
      cpuUs: summarise(own.map((sample) => sample.cpuUs)).median,
      perSecond: summarise(own.map((sample) => sample.perSecond)).median,
      relative: summarise(ratios(own, reference)),
    })
    return {
      rows: WAYS.map(({ name }, index) => rowOf(name, samples[index] as Sample[])),
      goals: others.map((own, index) => {
        // Ratios are calls per CPU second, the goal is CPU per call.
        const cost = summarise(ratios(reference, own))
        return {
          suite: 'tools',
          name: WAYS[index + 1]?.name ?? '',
          goal: `at most ${GOAL.toFixed(2)} of the CPU per call of POST /call`,
          measured: `${cost.median.toFixed(2)} (middle half ${cost.low.toFixed(2)}–${cost.high.toFixed(2)}, ${rounds} paired rounds)`,
          met: cost.median <= GOAL,
        }
      }),
    }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}
