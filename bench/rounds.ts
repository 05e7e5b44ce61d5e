/**
 * Paired rounds: in each round every contender gets the same load for the same time, so that machine drift affects all
 * alike.
 */
import type { LoadOptions, LoadResult } from './load.ts'
import type { Host, Load } from './processes.ts'
import type { TrafficName } from './traffic.ts'

export interface Sample {
  cpuUs: number
  perSecond: number
  load: LoadResult
}

export interface RoundOptions extends Omit<LoadOptions, 'port' | 'operations' | 'traffic'> {
  /** Traffic for every host if `trafficOf` is not set. Default: `sync`. */
  traffic?: TrafficName
  trafficOf?: (host: Host) => TrafficName
  /** The operations to call on each host, if the traffic uses several. */
  operationsOf?: (host: Host) => readonly string[]
  rounds: number
  /** Enough calls for the compiler to optimise all code paths. */
  warmUpCalls: number
  /** Upper limit of the warm-up, for slow servers. Default: no limit. */
  warmUpMs?: number
}

/** Returns the samples by contender, one per round. */
export async function runRounds(load: Load, hosts: readonly Host[], options: RoundOptions): Promise<Sample[][]> {
  const { rounds, warmUpCalls, warmUpMs, operationsOf, trafficOf, traffic = 'sync', ...common } = options
  const loadOf = (host: Host) => ({
    ...common,
    ...(operationsOf && { operations: operationsOf(host) }),
    traffic: trafficOf?.(host) ?? traffic,
  })
  for (const host of hosts) await warmUp(load, host, warmUpCalls, loadOf(host), warmUpMs)
  return alternate(hosts.length, rounds, (at) => measure(load, hosts[at] as Host, loadOf(hosts[at] as Host)))
}

/** One sample of every contender per round. Each round starts with another contender, and every second runs backwards. */
export async function alternate<T>(
  contenders: number,
  rounds: number,
  take: (at: number) => Promise<T>,
): Promise<T[][]> {
  const samples: T[][] = Array.from({ length: contenders }, () => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders; turn++) {
      // So no contender always follows the same neighbour, and limits stay next to the contenders that are compared with
      // them.
      const step = round % 2 === 0 ? turn : contenders - 1 - turn
      const at = (round + step) % contenders
      samples[at]?.push(await take(at))
    }
  }
  return samples
}

export async function warmUp(
  load: Load,
  host: Host,
  calls: number,
  options: Omit<LoadOptions, 'port'>,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const endsAt = performance.now() + maxMs
  for (let made = 0; made < calls && performance.now() < endsAt; ) {
    made += (await measure(load, host, { ...options, durationMs: 500 })).load.calls
  }
}

export async function measure(load: Load, host: Host, options: Omit<LoadOptions, 'port'>): Promise<Sample> {
  const before = await host.cpuUs()
  const result = await load.run({ ...options, port: host.port })
  const cpuUs = (await host.cpuUs()) - before
  if (result.wrong > 0) {
    throw new Error(
      `${host.name}: ${result.wrong} of ${result.calls + result.wrong} replies are wrong: ${result.firstWrong}`,
    )
  }
  if (result.calls === 0) throw new Error(`${host.name}: no call was answered in ${options.durationMs} ms.`)
  return { cpuUs: cpuUs / result.calls, perSecond: (result.calls * 1000) / result.elapsedMs, load: result }
}

/** Ratio of calls per CPU second of the two, round by round. */
export function ratios(ours: readonly Sample[], theirs: readonly Sample[]): number[] {
  return ours.map(({ cpuUs }, round) => (theirs[round] as Sample).cpuUs / cpuUs)
}
