/** The cost of a policy with 1,000 rules: evaluated alone, for several kinds of rules, and inside a call. */
import { join } from 'node:path'
import { MIXES } from '../contenders/policies.ts'
import type { Repeated } from '../contenders/repeat.ts'
import { type Host, startHost } from '../processes.ts'
import { added, medianUs, runWork } from '../work-rounds.ts'
import type { Findings, Settings } from './suite.ts'

const GOAL_US = 20
const RULES = 1_000

export async function measurePolicy(settings: Settings): Promise<Findings> {
  const [asked, called] = [await measureDecisions(settings), await measureCalls(settings)]
  return { rows: [...asked.rows, ...called.rows], goals: [...asked.goals, ...called.goals] }
}

async function measureDecisions({ quick, say }: Settings): Promise<Findings> {
  const hosts: Host[] = []
  try {
    for (const mix of MIXES) {
      hosts.push(await startHost(`policy alone: ${mix}`, { contender: 'guard', rules: RULES, mix }))
    }
    const rounds = quick ? 9 : 41
    say(`backends: ${rounds} rounds of ${MIXES.length} policies of ${RULES} rules, asked alone`)
    const calls = quick ? 5_000 : 10_000
    const samples = await runWork(hosts, { rounds, warmUpCalls: 20_000, calls, concurrency: 1 })
    const rows = hosts.map(({ name }, index) => ({
      suite: 'backends',
      contender: name,
      cpuUs: medianUs(samples[index] as Repeated[]),
    }))
    const worst = Math.max(...rows.map(({ cpuUs }) => cpuUs))
    return { rows, goals: [goalFor(`${RULES} rules, asked`, worst, `in the dearest of ${MIXES.length} mixes`)] }
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

/**
 * Every call under a policy is recorded, even with few rules. So the limit is one rule, and only the number of rules
 * differs.
 */
async function measureCalls({ quick, folder, say }: Settings): Promise<Findings> {
  const hosts: Host[] = []
  try {
    for (const [name, rules] of [
      ['no policy'],
      ['policy of 1 rule', 1],
      [`policy of ${RULES} rules`, RULES],
    ] as const) {
      const data = join(folder, `policy-${rules ?? 'none'}`)
      const options = { contender: 'governed', data, ...(rules !== undefined && { rules }) } as const
      hosts.push(await startHost(`sync call: ${name}`, options))
    }
    const rounds = quick ? 9 : 41
    say(`backends: ${rounds} rounds of ${hosts.length} servers, a sync call with and without a policy`)
    const calls = quick ? 1_000 : 2_000
    const samples = await runWork(hosts, { rounds, warmUpCalls: 5_000, calls, concurrency: 16 })
    const [none = [], one = [], many = []] = samples
    const over = added(many, one)
    const rows = hosts.map(({ name }, index) => ({
      suite: 'backends',
      contender: name,
      cpuUs: medianUs(samples[index] as Repeated[]),
      ...(index > 0 && { figures: { 'over no policy µs': added(samples[index] as Repeated[], none).median } }),
    }))
    const spread = `middle half ${over.low.toFixed(1)}–${over.high.toFixed(1)}, ${rounds} paired rounds`
    return { rows, goals: [goalFor(`a call under ${RULES} rules`, over.median, `more than under one; ${spread}`)] }
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

function goalFor(name: string, us: number, note: string) {
  return {
    suite: 'backends',
    name,
    goal: `at most ${GOAL_US} µs of CPU`,
    measured: `${us.toFixed(1)} µs (${note})`,
    met: us <= GOAL_US,
  }
}
