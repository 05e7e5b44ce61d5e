/** Profiles a server under the load of a suite, to find where its CPU time goes. */
import { join } from 'node:path'
import { type BrokerKind, startBrokers } from './brokers.ts'
import { ADD } from './contenders/add-schemas.ts'
import type { HostOptions } from './host.ts'
import { type Host, startHost, startLoad } from './processes.ts'
import type { ProfileLine } from './profiler.ts'
import { measure, warmUp } from './rounds.ts'
import type { TrafficName } from './traffic.ts'

const LINES = 40
const WARM_UP_CALLS = 50_000
const WARM_UP_MS = 5_000

interface Profile {
  traffic: TrafficName
  connections: number
  hosts: readonly HostOptions[]
}

/** The bare server is profiled too, so that the cost of node:http can be separated from the cost that we add. */
const PROFILES: Readonly<Record<string, Profile>> = {
  sync: besideBare('opencall'),
  auth: { traffic: 'opencallToken', connections: 32, hosts: [{ contender: 'callplane', guarded: true }] },
  oxp: besideBare('oxp'),
  rest: besideBare('rest'),
  mcp: besideBare('mcp'),
  durable: { traffic: 'async', connections: 64, hosts: [{ contender: 'callplane' }] },
}

/** Profiled through a broker. */
const BROKERS: readonly BrokerKind[] = ['mqtt', 'kafka']

export const PROFILED: readonly string[] = [...Object.keys(PROFILES), ...BROKERS]

function besideBare(envelope: 'opencall' | 'oxp' | 'rest' | 'mcp'): Profile {
  const hosts: HostOptions[] = [{ contender: 'node-http', envelope }, { contender: 'callplane' }]
  return { traffic: envelope, connections: 32, hosts }
}

export async function printProfiles(name: string, folder: string): Promise<void> {
  const kind = BROKERS.find((known) => known === name)
  if (kind) return printBrokerProfiles(kind, folder)
  const { traffic, connections, hosts } = PROFILES[name] as Profile
  for (const options of hosts) {
    const data = join(folder, `profile-${name}-${options.contender}`)
    await printProfile({ traffic, connections }, { ...options, data }, `${data}.log`)
  }
}

async function printProfile(
  shape: Pick<Profile, 'traffic' | 'connections'>,
  options: HostOptions,
  outputTo: string,
): Promise<void> {
  const load = startLoad()
  const host = await startHost(options.contender, options, outputTo)
  try {
    await warmUp(load, host, WARM_UP_CALLS, { ...shape, durationMs: 500 })
    await printCalls(shape.traffic, host, (durationMs) => measure(load, host, { ...shape, durationMs }))
  } finally {
    await Promise.all([load.stop(), host.stop()])
  }
}

async function printBrokerProfiles(kind: BrokerKind, folder: string): Promise<void> {
  const brokers = await startBrokers(kind, folder)
  try {
    for (const host of [brokers.bare, brokers.callplane]) {
      const run = (durationMs: number) => brokers.sample(host, ADD, durationMs)
      await run(WARM_UP_MS)
      await printCalls(kind, host, run)
    }
  } finally {
    await brokers.stop()
  }
}

type Run = (durationMs: number) => Promise<{ cpuUs: number; perSecond: number }>

async function printCalls(traffic: string, host: Host, run: Run): Promise<void> {
  const { cpuUs, perSecond } = await run(2_000)
  await host.ask('startProfile')
  await run(4_000)
  await printProfileOf(host, `${traffic}, ${perSecond.toFixed(0)} calls/s`, cpuUs)
}

/** Ends the profile and prints it. `cpuUs` is the CPU time of a call or a frame. */
export async function printProfileOf(host: Host, shape: string, cpuUs: number): Promise<void> {
  const lines = await host.ask<ProfileLine[]>('stopProfile')
  console.log(`\n${host.name}, ${shape}: ${cpuUs.toFixed(2)} µs of CPU each`)
  console.log('self time by file:')
  printLines(byFile(lines), cpuUs)
  console.log('self time by function:')
  printLines(lines, cpuUs)
}

function printLines(lines: readonly ProfileLine[], cpuUs: number): void {
  for (const { share, where } of lines.slice(0, LINES)) {
    const us = (share * cpuUs).toFixed(2)
    console.log(`${(share * 100).toFixed(1).padStart(5)} % ${us.padStart(6)} µs  ${where}`)
  }
}

/** Frames without a file (the garbage collector, native code) keep their name. */
function byFile(lines: readonly ProfileLine[]): ProfileLine[] {
  const shares = new Map<string, number>()
  for (const { share, where } of lines) {
    const file = /^[^[].* (\S+):\d+$/.exec(where)?.[1] ?? where
    const place = file.startsWith('node:') ? 'node: internals' : file
    shares.set(place, (shares.get(place) ?? 0) + share)
  }
  return [...shares].map(([where, share]) => ({ where, share })).sort((a, b) => b.share - a.share)
}
