/** 10,000 registered operations: their cost at start, per call and in discovery. */
import { join } from 'node:path'
import { manyName } from '../contenders/contender.ts'
import { fetchOnce } from '../fetch-once.ts'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { relativeOf, summarise } from '../statistics.ts'
import { callRequest } from '../traffic.ts'
import { measureDiscovery } from './operations-discovery.ts'
import type { Row, Suite } from './suite.ts'

const FEW = 10
const MANY = 10_000
const START_GOAL_MS = 2_000
/** The tolerance for "no slower" that paired rounds can resolve. */
const CALL_GOAL = 0.95

export const operations: Suite = async ({ quick, trial, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  try {
    const starts = await measureStarts(quick ? 1 : 5, folder, 'ajv')
    const zodStarts = await measureStarts(quick ? 1 : 5, folder, 'zod')
    for (const count of [FEW, MANY]) {
      const data = join(folder, `operations-${count}`)
      hosts.push(
        await startHost(`callplane (${count} operations)`, { contender: 'callplane', operations: count, data }),
      )
    }
    const many = hosts[1] as Host
    const rounds = trial ? 1 : quick ? 15 : 41
    say(`operations: ${rounds} rounds with ${FEW} and ${MANY} operations`)
    const common = { connections: 32, durationMs: quick ? 200 : 300, traffic: 'operations' } as const
    // Ten operations spread across the registry. Each is compiled at its first call, which this row does not measure.
    const names = Array.from({ length: FEW }, (_, index) => manyName((index * MANY) / FEW + 7))
    const samples = (await runRounds(load, hosts, {
      ...common,
      rounds,
      warmUpCalls: quick ? 10_000 : 50_000,
      operationsOf: (host) => (host === many ? names : Array.from({ length: FEW }, (_, index) => manyName(index))),
    })) as [Sample[], Sample[]]
    const relative = summarise(ratios(samples[1], samples[0]))
    const rows: Row[] = hosts.map((host, index) => ({
      suite: 'operations',
      contender: host.name,
      cpuUs: summarise((samples[index] as Sample[]).map(({ cpuUs }) => cpuUs)).median,
      perSecond: summarise((samples[index] as Sample[]).map(({ perSecond }) => perSecond)).median,
      ...relativeOf(ratios(samples[index] as Sample[], samples[0])),
      ...(host === many && { figures: { 'start ms': starts.median, 'start ms (zod)': zodStarts.median } }),
    }))
    const discovery = await measureDiscovery(load, many, { quick, trial })
    return {
      rows: [...rows, ...discovery.rows],
      goals: [
        {
          suite: 'operations',
          name: 'start with 10,000 operations',
          goal: `first answer below ${START_GOAL_MS} ms`,
          measured: `${starts.median.toFixed(0)} ms from defining them to the first answer`,
          met: starts.median < START_GOAL_MS,
        },
        {
          suite: 'operations',
          name: 'a call among 10,000 operations',
          goal: 'no slower than among 10',
          measured: `${relative.median.toFixed(2)} of the calls per CPU second (middle half ${relative.low.toFixed(2)}–${relative.high.toFixed(2)})`,
          met: relative.median >= CALL_GOAL,
        },
        ...discovery.goals,
      ],
    }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}

/** Time from the first `operation(...)` to the first response, in a process whose modules are loaded. */
async function measureStarts(times: number, folder: string, validator: 'ajv' | 'zod') {
  const elapsed: number[] = []
  for (let time = 0; time < times; time++) {
    const data = join(folder, `start-${validator}-${time}`)
    const host = await startHost('callplane', { contender: 'callplane', operations: MANY, validator, data })
    try {
      const { body } = callRequest(manyName(5), { a: 1, b: 2 }, 'first')
      const from = performance.now()
      const answer = await fetchOnce(host.port, '/call', { headers: { 'Content-Type': 'application/json' }, body })
      elapsed.push(host.startedInMs + performance.now() - from)
      if (!answer.body.includes('"result":3')) throw new Error(`The first answer is wrong: ${answer.body}`)
    } finally {
      await host.stop()
    }
  }
  return summarise(elapsed)
}
