/** Generates the clients' tasks of a crash test at random from a seed, and reads back their effects. */
import { readFile } from 'node:fs/promises'
import type { Wish } from './client.ts'
import type { ClientCall, Effect } from './history.ts'

/** The operations by their share of thirteen. */
const OPERATIONS: readonly (readonly [number, Wish['operation']])[] = [
  [5, 'Work'],
  [7, 'Charge'],
  [8, 'Order'],
  [10, 'Export'],
  [12, 'Held'],
  [13, 'Grant'],
]

export function wishes(round: number, count: number, random: (below: number) => number): Wish[] {
  return Array.from({ length: count }, (_, index): Wish => {
    const kind = random(13)
    return {
      label: `${round}-${index}`,
      operation: OPERATIONS.find(([below]) => kind < below)?.[1] ?? 'Work',
      args: { ms: random(80), fail: (['never', 'never', 'never', 'once', 'always'] as const)[random(5)] ?? 'never' },
      whenCutOff: (['same-key', 'same-id', 'leave'] as const)[random(3)] ?? 'leave',
    }
  })
}

/**
 * The charges that orders made. No client has their request ids, so the order's outcome says whether they were made.
 */
export function children(calls: readonly ClientCall[], effects: readonly Effect[]): ClientCall[] {
  const charged = new Set(effects.map(({ label }) => label).filter((label) => label.endsWith('.charge')))
  return calls
    .filter(({ label }) => charged.has(`${label}.charge`))
    .map((call) => ({ ...call, label: `${call.label}.charge`, effect: 'once' }))
}

export async function readEffects(file: string): Promise<Effect[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const [label = '', key = '', attempt = ''] = line.split(' ')
    return { label, key, attempt: Number(attempt) }
  })
}

/** Returns integers from 0 up to, but not including, the bound (mulberry32). */
export function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
