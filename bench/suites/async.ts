/** Durable calls from POST to terminal: each is written before it runs and its outcome before it is told. */
import { join } from 'node:path'
import type { InProcess } from '../contenders/callplane.ts'
import { startHost, startLoad } from '../processes.ts'
import { runRounds, type Sample } from '../rounds.ts'
import { summarise } from '../statistics.ts'
import type { Row, Suite } from './suite.ts'

const GOAL = 4_000
const CALLERS = 64

export const async: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const host = await startHost('callplane', { contender: 'callplane', data: join(folder, 'async') })
  try {
    const rounds = quick ? 5 : 9
    say(`async: ${rounds} rounds, ${CALLERS} callers that wait with Prefer: wait=10, synchronous FULL`)
    const [samples] = (await runRounds(load, [host], {
      rounds,
      warmUpCalls: quick ? 5_000 : 20_000,
      durationMs: quick ? 500 : 2_000,
      connections: CALLERS,
      traffic: 'async',
    })) as [Sample[]]
    const median = (of: (sample: Sample) => number) => summarise(samples.map(of)).median
    const reached = summarise(samples.map(({ perSecond }) => perSecond))
    const http: Row = {
      suite: 'async',
      contender: 'callplane',
      cpuUs: median(({ cpuUs }) => cpuUs),
      perSecond: reached.median,
      figures: { 'p50 ms': median(({ load }) => load.p50Ms), 'p99 ms': median(({ load }) => load.p99Ms) },
    }
    const inProcess: number[] = []
    const work: InProcess = { operation: 'v1:Calculator.AddLater', calls: quick ? 4_000 : 10_000, concurrency: CALLERS }
    for (let round = 0; round < 5; round++) inProcess.push(await host.ask<number>('work', work))
    return {
      rows: [http, { suite: 'async', contender: 'callplane (in process)', perSecond: summarise(inProcess).median }],
      goals: [
        {
          suite: 'async',
          name: 'durable async call',
          goal: `at least ${GOAL} a second from POST to terminal with ${CALLERS} callers`,
          measured: `${reached.median.toFixed(0)} a second (middle half ${reached.low.toFixed(0)}–${reached.high.toFixed(0)})`,
          met: reached.median >= GOAL,
        },
      ],
    }
  } finally {
    await Promise.all([load.stop(), host.stop()])
  }
}
