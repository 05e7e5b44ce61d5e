/** A sync call of `v1:Calculator.Add`, against servers that do the same envelope work. */
import { join } from 'node:path'
import type { HostOptions } from '../host.ts'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { sameReplies } from '../same-replies.ts'
import { summarise } from '../statistics.ts'
import type { Suite } from './suite.ts'

const GOAL = 0.8
const CONNECTIONS = 32

/** Each with the contender it is compared to. */
const CONTENDERS: readonly { name: string; against: string; options: HostOptions }[] = [
  { name: 'node:http', against: 'node:http', options: { contender: 'node-http', validator: 'ajv' } },
  { name: 'callplane', against: 'node:http', options: { contender: 'callplane', validator: 'ajv' } },
  { name: 'fastify', against: 'node:http', options: { contender: 'fastify', validator: 'ajv' } },
  { name: 'hono', against: 'node:http', options: { contender: 'hono', validator: 'ajv' } },
  { name: 'node:http (zod)', against: 'node:http (zod)', options: { contender: 'node-http', validator: 'zod' } },
  { name: 'callplane (zod)', against: 'node:http (zod)', options: { contender: 'callplane', validator: 'zod' } },
]

export const sync: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  try {
    for (const [index, { name, options }] of CONTENDERS.entries()) {
      hosts.push(await startHost(name, { ...options, data: join(folder, `sync-${index}`) }))
    }
    await sameReplies(hosts)
    const rounds = quick ? 7 : 41
    say(`sync: ${rounds} rounds of ${CONTENDERS.length} servers, ${CONNECTIONS} connections`)
    const samples = await runRounds(load, hosts, {
      rounds,
      warmUpCalls: quick ? 10_000 : 50_000,
      // Short windows and many of them: what disturbs one server then disturbs its neighbour in the round as well.
      durationMs: quick ? 200 : 300,
      connections: CONNECTIONS,
      traffic: 'sync',
    })
    const of = (name: string) => samples[CONTENDERS.findIndex((contender) => contender.name === name)] as Sample[]
    const rows = CONTENDERS.map(({ name, against }) => ({
      suite: 'sync',
      contender: name,
      cpuUs: summarise(of(name).map((sample) => sample.cpuUs)).median,
      perSecond: summarise(of(name).map((sample) => sample.perSecond)).median,
      relative: summarise(ratios(of(name), of(against))),
      figures: { 'best µs': Math.min(...of(name).map((sample) => sample.cpuUs)) },
    }))
    const reached = summarise(ratios(of('callplane'), of('node:http')))
    return {
      rows,
      goals: [
        {
          suite: 'sync',
          name: 'sync call',
          goal: `at least ${GOAL.toFixed(2)} of the calls per CPU second of bare node:http`,
          measured: `${reached.median.toFixed(2)} (middle half ${reached.low.toFixed(2)}–${reached.high.toFixed(2)}, ${rounds} paired rounds)`,
          met: reached.median >= GOAL,
        },
      ],
    }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}
