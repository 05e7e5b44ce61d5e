/**
 * Measures CPU per call of servers that alternate in many short windows, each restarted several times. A process keeps
 * its own pace from start to end, so one process of each says little, even if it is measured for a long time.
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
  /** Takes part only in this many generations, the first ones. Default: all. */
  generations?: number
}

export interface FreshOptions {
  /** Number of times that every server is started. */
  generations: number
  /** Number of measurements of each server in each generation. */
  windows: number
  windowMs: number
  connections: number
  /** The load generator polls and never sleeps, so that no server pays for waking it. */
  polls: boolean
  warmUpCalls: number
  /** The warm-up ends early when the server has used this much CPU time. */
  warmUpCpuMs: number
  /** Called once, when the servers of the first generation are running. */
  check?(hosts: ReadonlyMap<string, Host>): Promise<void>
  say(line: string): void
}

/**
 * Returns the CPU time of a call in µs by server, one figure per process. The servers of one generation ran side by
 * side.
 */
export type Costs = ReadonlyMap<string, readonly number[]>

export async function measureFresh(servers: readonly Server[], options: FreshOptions): Promise<Costs> {
  const { generations, check, say } = options
  const random = createRandom(1)
  const costs = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
  for (let generation = 0; generation < generations; generation++) {
    const present = servers.filter((server) => generation < (server.generations ?? generations))
    const hosts = new Map<string, Host>()
    try {
      for (const { name, start } of shuffle(present, random)) hosts.set(name, await start(generation))
      if (generation === 0) await check?.(hosts)
      for (const [name, windows] of await takeTurns(present, hosts, options, random)) {
        costs.get(name)?.push(fastestTenth(windows))
      }
    } finally {
      await Promise.all([...hosts.values()].map((host) => host.stop()))
    }
    say(`${generation + 1} of ${generations} generations measured, with ${present.length} servers`)
  }
  return costs
}

async function takeTurns(
  servers: readonly Server[],
  hosts: ReadonlyMap<string, Host>,
  { windows, windowMs, connections, polls, warmUpCalls, warmUpCpuMs }: FreshOptions,
  random: () => number,
): Promise<Map<string, number[]>> {
  const load = startLoad()
  const common = { connections, durationMs: windowMs, keepOpen: true, polls } satisfies Partial<LoadOptions>
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
