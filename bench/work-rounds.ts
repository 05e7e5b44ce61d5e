/** Paired rounds like those of rounds.ts, for work that each process does itself instead of receiving requests. */
import type { Repeat, Repeated } from './contenders/repeat.ts'
import type { Host } from './processes.ts'
import { type Summary, summarise } from './statistics.ts'

export interface WorkRounds extends Repeat {
  rounds: number
  warmUpCalls: number
}

/** Returns the samples by host, one per round. */
export async function runWork(hosts: readonly Host[], options: WorkRounds): Promise<Repeated[][]> {
  const { rounds, warmUpCalls, ...given } = options
  for (const host of hosts) await host.ask('work', { ...given, calls: warmUpCalls })
  const samples: Repeated[][] = hosts.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < hosts.length; turn++) {
      const at = (round + turn) % hosts.length
      samples[at]?.push(await (hosts[at] as Host).ask<Repeated>('work', given))
    }
  }
  return samples
}

/** Difference of the two in µs of CPU per call, round by round. */
export function added(own: readonly Repeated[], reference: readonly Repeated[]): Summary {
  return summarise(own.map(({ cpuUs }, round) => cpuUs - (reference[round] as Repeated).cpuUs))
}

export function medianUs(own: readonly Repeated[]): number {
  return summarise(own.map(({ cpuUs }) => cpuUs)).median
}
