/**
 * Measures one pair in this process: after a warm-up, both sides take turns in short windows. The figure of a side is
 * the CPU time per operation in its fastest tenth of windows.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fastestTenth } from '../statistics.ts'
import type { Pair, Work } from './pair.ts'

export interface Comparison {
  oursUs: number
  theirsUs: number
}

const WARM_UP_WINDOWS = 30

export async function compare({ ours, theirs, times }: Pair, windows: number): Promise<Comparison> {
  await using own = await ours()
  await using other = await theirs()
  const sides = [own, other] as const
  const measured: [number[], number[]] = [[], []]
  for (let window = 0; window < WARM_UP_WINDOWS + windows; window++) {
    // Each side is first in every other window, so that neither always pays for the garbage of its neighbour.
    for (const at of window % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const us = await measure(sides[at], times)
      if (window >= WARM_UP_WINDOWS) measured[at].push(us)
    }
  }
  return { oursUs: fastestTenth(measured[0]), theirsUs: fastestTenth(measured[1]) }
}

async function measure(work: Work, times: number): Promise<number> {
  await nextTurn()
  const before = process.cpuUsage()
  await work.run(times)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}
