/** Durable calls over HTTP, from POST to terminal: the extra cost compared with the jobs alone. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ADD_LATER } from '../contenders/durable-envelope.ts'
import type { Engine } from '../engines/engine.ts'
import { startRedis } from '../engines/redis.ts'
import { fetchOnce } from '../fetch-once.ts'
import { keepInstalled } from '../installed.ts'
import { startPacedLoad } from '../paced.ts'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { relativeOf, summarise } from '../statistics.ts'
import { callRequest } from '../traffic.ts'
import type { Findings, Goal, Row, Settings } from './suite.ts'

const CALLERS = 64
const OF_LIMIT = 0.6
const OF_FASTIFY = 2
const PACE = 1_000
const P99_MS = 25

const LIMIT = 'node:http + SQLite by hand'
const OURS = 'callplane http'
const FASTIFY = 'Fastify + BullMQ'

export async function measureOverHttp(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const load = startLoad()
  const hosts: Host[] = []
  let redis: Engine | undefined
  try {
    const data = (name: string) => join(folder, `durable-http-${name}`)
    hosts.push(
      await startHost(LIMIT, { contender: 'durable-http', durable: { system: 'sqlite' }, data: data('limit') }),
    )
    hosts.push(await startHost(OURS, { contender: 'callplane', data: data('callplane') }))
    redis = await redisFor(settings)
    if (redis) {
      const durable = { system: 'bullmq', enginePort: redis.port } as const
      hosts.push(await startHost(FASTIFY, { contender: 'durable-http', durable }))
    }
    for (const host of hosts) await requireRightReplies(host)
    const rounds = trial ? 1 : quick ? 7 : 21
    say(`durable: ${rounds} rounds of ${hosts.length} servers, ${CALLERS} callers that wait with Prefer: wait=10`)
    const samples = await runRounds(load, hosts, {
      rounds,
      warmUpCalls: trial ? 0 : quick ? 3_000 : 20_000,
      warmUpMs: quick ? 500 : 3_000,
      durationMs: quick ? 150 : 600,
      connections: CALLERS,
      traffic: 'async',
    })
    const paced = await callAtPace(hosts[1] as Host, trial ? 2_500 : quick ? 5_000 : 17_000)
    const rows = hosts.map(({ name }, index) => rowOf(name, samples[index] as Sample[], samples[0] as Sample[]))
    const ours = rows[1] as Row
    ours.figures = { ...ours.figures, [`p99 ms at ${PACE}/s`]: paced.p99Ms, [`p50 ms at ${PACE}/s`]: paced.p50Ms }
    return { rows, goals: [...ratioGoals(samples), pacedGoal(paced)] }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
    await redis?.stop()
  }
}

/** Starts a separate Redis, because the one from the in-process rounds holds all those jobs in memory. */
async function redisFor({ folder, say }: Settings): Promise<Engine | undefined> {
  const [kept] = keepInstalled([{ name: FASTIFY, needs: ['fastify', 'bullmq'] }], say)
  if (!kept) return undefined
  const redis = await startRedis(join(folder, 'http'))
  if (!('missing' in redis)) return redis
  say(`skipped: ${FASTIFY} (${redis.missing})`)
  return undefined
}

async function requireRightReplies({ name, port }: Host): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Prefer: 'wait=10' }
  const right = callRequest(ADD_LATER, { a: 1, b: 2 }, 'right')
  const wrong = callRequest(ADD_LATER, { a: 1, b: 'two' }, 'wrong')
  const done = await fetchOnce(port, '/call', { headers, body: right.body })
  const refused = await fetchOnce(port, '/call', { headers, body: wrong.body })
  if (done.status !== 200 || !done.body.toString().startsWith('{"requestId":"right","state":"complete","result":3')) {
    throw new Error(`${name} answers ${done.status} ${done.body}`)
  }
  if (refused.status !== 400) throw new Error(`${name} does not refuse wrong arguments: ${refused.body}`)
}

async function callAtPace({ port }: Host, durationMs: number) {
  const load = startPacedLoad()
  try {
    await load.start({ port, operation: ADD_LATER, perSecond: PACE })
    await pause(durationMs)
    return await load.finish()
  } finally {
    await load.stop()
  }
}

function rowOf(contender: string, own: readonly Sample[], limit: readonly Sample[]): Row {
  const median = (of: (sample: Sample) => number) => summarise(own.map(of)).median
  return {
    suite: 'durable http',
    contender,
    cpuUs: median(({ cpuUs }) => cpuUs),
    perSecond: median(({ perSecond }) => perSecond),
    ...relativeOf(ratios(own, limit)),
    limit: LIMIT,
    figures: {
      'calls/s of the limit': summarise(rates(own, limit)).median,
      'p50 ms': median(({ load }) => load.p50Ms),
      'p99 ms': median(({ load }) => load.p99Ms),
    },
  }
}

function rates(ours: readonly Sample[], theirs: readonly Sample[]): number[] {
  return ours.map(({ perSecond }, round) => perSecond / (theirs[round] as Sample).perSecond)
}

function ratioGoals([limit = [], ours = [], fastify]: readonly Sample[][]): Goal[] {
  const held = (name: string, against: readonly Sample[], least: number, goal: string): Goal => {
    const { median, low, high } = summarise(rates(ours, against))
    const cpu = summarise(ratios(ours, against)).median
    return {
      suite: 'durable http',
      name,
      goal,
      measured: `${median.toFixed(2)} (middle half ${low.toFixed(2)}–${high.toFixed(2)}), ${cpu.toFixed(2)} of the calls per CPU second`,
      met: median >= least,
    }
  }
  const beside = 'durable calls over HTTP beside'
  return [
    held(`${beside} ${LIMIT}`, limit, OF_LIMIT, `at least ${OF_LIMIT} of its calls a second`),
    ...(fastify
      ? [held(`${beside} ${FASTIFY}`, fastify, OF_FASTIFY, `at least ${OF_FASTIFY} times its calls a second`)]
      : []),
  ]
}

function pacedGoal({ calls, p50Ms, p99Ms, maxMs }: Awaited<ReturnType<typeof callAtPace>>): Goal {
  return {
    suite: 'durable http',
    name: `durable calls at ${PACE} a second`,
    goal: `p99 below ${P99_MS} ms from the moment each is due`,
    measured: `p99 ${p99Ms.toFixed(1)} ms, p50 ${p50Ms.toFixed(1)} ms, longest ${maxMs.toFixed(1)} ms of ${calls} calls`,
    met: p99Ms < P99_MS,
  }
}
