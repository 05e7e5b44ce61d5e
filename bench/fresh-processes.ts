/**
 * CPU per call of servers that take turns in many short windows, each started anew several times. A process keeps its own
 * pace from start to end, so one process of each says little, however long it is measured.
 */
import type { LoadOptions } from './load.ts'
import { type Host, startLoad } from './processes.ts'
import { measure } from './rounds.ts'
import { createRandom, fastestTenth, shuffle } from './statistics.ts'
import type { TrafficName } from './traffic.ts'

export interface Server {
  name: string
  traffic: TrafficName
  start(generation: number): Promise<Host>
}

export interface FreshOptions {
  /** How often every server is started. */
  generations: number
  /** Measurements of each server in each generation. */
  windows: number
  windowMs: number
  connections: number
  warmUpCalls: number
  /** The warm-up ends when the server has used this much CPU time, also when it has not made all its calls. */
  warmUpCpuMs: number
  /** Runs once, when the servers of the first generation are up. */
  check?(hosts: ReadonlyMap<string, Host>): Promise<void>
  say(line: string): void
}

/** By server: the CPU time of a call in µs, one figure per process. The servers of one generation ran side by side. */
export type Costs = ReadonlyMap<string, readonly number[]>

export async function measureFresh(servers: readonly Server[], options: FreshOptions): Promise<Costs> {
  const { generations, check, say } = options
  const random = createRandom(1)
  const costs = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
  for (let generation = 0; generation < generations; generation++) {
    const hosts = new Map<string, Host>()
    try {
      for (const { name, start } of shuffle(servers, random)) hosts.set(name, await start(generation))
      if (generation === 0) await check?.(hosts)
      for (const [name, windows] of await takeTurns(servers, hosts, options, random)) {
        costs.get(name)?.push(fastestTenth(windows))
      }
    } finally {
      await Promise.all([...hosts.values()].map((host) => host.stop()))
    }
    say(`${generation + 1} of ${generations} generations of ${servers.length} servers measured`)
  }
  return costs
}

async function takeTurns(
  servers: readonly Server[],
  hosts: ReadonlyMap<string, Host>,
  { windows, windowMs, connections, warmUpCalls, warmUpCpuMs }: FreshOptions,
  random: () => number,
): Promise<Map<string, number[]>> {
  const load = startLoad()
  const common = { connections, durationMs: windowMs, keepOpen: true } satisfies Partial<LoadOptions>
  const taken = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
  try {
    for (const { name, traffic } of servers) {
      const host = hosts.get(name) as Host
      for (let calls = 0, cpuUs = 0; calls < warmUpCalls && cpuUs < warmUpCpuMs * 1_000; ) {
        const sample = await measure(load, host, { ...common, durationMs: 200, traffic })
        calls += sample.load.calls
        cpuUs += sample.cpuUs * sample.load.calls
      }
    }
    for (let window = 0; window < windows; window++) {
      for (const { name, traffic } of shuffle(servers, random)) {
        const { cpuUs } = await measure(load, hosts.get(name) as Host, { ...common, traffic })
        taken.get(name)?.push(cpuUs)
      }
    }
    return taken
  } finally {
    await load.stop()
  }
}
