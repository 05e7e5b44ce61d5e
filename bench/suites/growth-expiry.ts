/** Makes a thousand durable calls a second while the server removes a million expired instances. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ADD_LATER } from '../contenders/durable-envelope.ts'
import { type PacedLoad, startPacedLoad } from '../paced.ts'
import { type Host, startHost } from '../processes.ts'
import { fillDatabase } from './growth-fill.ts'
import type { Findings, Settings } from './suite.ts'

const PACE = 1_000
const P99_MS = 25
const LOOK_EVERY_MS = 500
const GIVE_UP_MS = 900_000

export async function expiry({ quick, trial, folder, say }: Settings): Promise<Findings> {
  const instances = trial ? 1_000 : quick ? 100_000 : 1_000_000
  const count = instances.toLocaleString('en')
  const data = join(folder, 'growth-expiry')
  say(`expiry: ${count} instances expire while ${PACE.toLocaleString('en')} durable calls a second come in`)
  await fillDatabase(data, { instances, keepUntil: Date.now() })
  const host = await startHost('callplane', { contender: 'growth', data })
  let load: PacedLoad | undefined
  try {
    load = startPacedLoad()
    const startedAt = performance.now()
    await load.start({ port: host.port, operation: ADD_LATER, perSecond: PACE })
    await untilPurged(host, startedAt + GIVE_UP_MS)
    const removedInMs = performance.now() - startedAt
    const { calls, p50Ms, p99Ms, maxMs } = await load.finish()
    return {
      rows: [
        {
          suite: 'expiry',
          contender: `callplane, ${count} instances expiring`,
          figures: { 'p50 ms': p50Ms, 'p99 ms': p99Ms, 'longest ms': maxMs, 'removed in s': removedInMs / 1000 },
        },
      ],
      goals: [
        {
          suite: 'expiry',
          name: `durable calls at ${PACE} a second while ${count} instances expire`,
          goal: `p99 below ${P99_MS} ms from the moment each is due`,
          measured: `p99 ${p99Ms.toFixed(1)} ms, p50 ${p50Ms.toFixed(1)} ms, longest ${maxMs.toFixed(0)} ms of ${calls} calls; all removed within ${(removedInMs / 1000).toFixed(0)} s`,
          met: p99Ms < P99_MS,
        },
      ],
    }
  } finally {
    await Promise.all([load?.stop(), host.stop()])
  }
}

async function untilPurged(host: Host, giveUpAt: number): Promise<void> {
  while (!(await host.ask<boolean>('work', 'purged'))) {
    if (performance.now() > giveUpAt) throw new Error('The server did not remove the expired instances in time.')
    await pause(LOOK_EVERY_MS)
  }
}
