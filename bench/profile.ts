/** Where a server's CPU time goes under the load of a suite: for whoever makes it faster. */
import { join } from 'node:path'
import type { HostOptions } from './host.ts'
import { startHost, startLoad } from './processes.ts'
import type { ProfileLine } from './profiler.ts'
import { measure, warmUp } from './rounds.ts'

const LINES = 40
const WARM_UP_CALLS = 50_000

/** The bare server beside ours, so that what node:http itself costs can be told from what we add. */
const SUBJECTS = { sync: ['node-http', 'callplane'], async: ['callplane'] } as const

export const PROFILED = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]

export async function printProfiles(suite: keyof typeof SUBJECTS, folder: string): Promise<void> {
  for (const contender of SUBJECTS[suite]) {
    await printProfile(suite, { contender, data: join(folder, `profile-${suite}-${contender}`) })
  }
}

async function printProfile(traffic: keyof typeof SUBJECTS, options: HostOptions): Promise<void> {
  const load = startLoad()
  const host = await startHost(options.contender, options)
  try {
    const shape = { traffic, connections: traffic === 'sync' ? 32 : 64 }
    await warmUp(load, host, WARM_UP_CALLS, { ...shape, durationMs: 500 })
    const { cpuUs, perSecond } = await measure(load, host, { ...shape, durationMs: 2_000 })
    await host.ask('startProfile')
    await measure(load, host, { ...shape, durationMs: 4_000 })
    const lines = await host.ask<ProfileLine[]>('stopProfile')
    console.log(`\n${traffic}, ${host.name}: ${cpuUs.toFixed(1)} µs of CPU per call, ${perSecond.toFixed(0)} calls/s`)
    console.log('self time by file:')
    printLines(byFile(lines), cpuUs)
    console.log('self time by function:')
    printLines(lines, cpuUs)
  } finally {
    await Promise.all([load.stop(), host.stop()])
  }
}

function printLines(lines: readonly ProfileLine[], cpuUs: number): void {
  for (const { share, where } of lines.slice(0, LINES)) {
    const us = (share * cpuUs).toFixed(2)
    console.log(`${(share * 100).toFixed(1).padStart(5)} % ${us.padStart(6)} µs  ${where}`)
  }
}

/** What has no file of its own (the collector, native code) keeps its name. */
function byFile(lines: readonly ProfileLine[]): ProfileLine[] {
  const shares = new Map<string, number>()
  for (const { share, where } of lines) {
    const file = /^[^[].* (\S+):\d+$/.exec(where)?.[1] ?? where
    const place = file.startsWith('node:') ? 'node: internals' : file
    shares.set(place, (shares.get(place) ?? 0) + share)
  }
  return [...shares].map(([where, share]) => ({ where, share })).sort((a, b) => b.share - a.share)
}
