/** `node bench/profile.ts [sync|async] [contender]`: where a server's CPU time goes under the load of that suite. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostOptions } from './host.ts'
import { startHost, startLoad } from './processes.ts'
import type { ProfileLine } from './profiler.ts'
import { measure, warmUp } from './rounds.ts'

const LINES = 40

const [traffic = 'sync', contender = 'callplane', validator = 'ajv'] = process.argv.slice(2)
if (traffic !== 'sync' && traffic !== 'async') {
  console.error('Profile "sync" or "async".')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'callplane-profile-'))
const load = startLoad()
const host = await startHost(contender, { contender, validator, data: folder } as HostOptions)
try {
  const shape = { traffic, connections: traffic === 'sync' ? 32 : 64 } as const
  await warmUp(load, host, 50_000, { ...shape, durationMs: 500 })
  const plain = await measure(load, host, { ...shape, durationMs: 2_000 })
  await host.ask('startProfile')
  await measure(load, host, { ...shape, durationMs: 4_000 })
  const lines = await host.ask<ProfileLine[]>('stopProfile')
  console.log(
    `${plain.cpuUs.toFixed(1)} µs of CPU per call, ${plain.perSecond.toFixed(0)} calls/s (not profiled); self time by file:`,
  )
  print(byFile(lines), plain.cpuUs)
  console.log('by function:')
  print(lines, plain.cpuUs)
} finally {
  await Promise.all([load.stop(), host.stop()])
  rmSync(folder, { recursive: true, force: true })
}

function print(lines: readonly ProfileLine[], cpuUs: number): void {
  for (const { share, where } of lines.slice(0, LINES)) {
    const us = (share * cpuUs).toFixed(2)
    console.log(`${(share * 100).toFixed(1).padStart(5)} % ${us.padStart(6)} µs  ${where}`)
  }
}

/** What has no file of its own (the collector, native code) keeps its name. */
function byFile(lines: readonly ProfileLine[]): ProfileLine[] {
  const shares = new Map<string, number>()
  for (const { share, where } of lines) {
    const file = /^[^[]\S* (\S+):\d+$/.exec(where)?.[1] ?? where
    const place = file.startsWith('node:') ? 'node: internals' : file
    shares.set(place, (shares.get(place) ?? 0) + share)
  }
  return [...shares].map(([where, share]) => ({ where, share })).sort((a, b) => b.share - a.share)
}
