/** The load of servers, as `/metrics` and as `v1:callplane.metrics.series` tell it. */
import type { Site } from '../server.ts'

export interface Series {
  times: string[]
  series: { name: string; operation?: string; node?: number; values: (number | null)[] }[]
}

export interface Counters {
  calls: number
  errors: number
  /** How many calls took at most so long, by the bound in milliseconds. */
  within: Map<number, number>
}

const CALLS = /^callplane_calls_total\{operation="([^"]*)",[^}]*outcome="([^"]*)"[^}]*\} (\d+)$/gm
const BUCKETS = /^callplane_call_duration_seconds_bucket\{operation="([^"]*)",[^}]*le="([^"]*)"\} (\d+)$/gm

/** The sum of all servers, without the operations of the servers themselves. */
export async function readCounters(
  sites: readonly Pick<Site, 'request'>[],
  headers: Record<string, string>,
  operation?: string,
): Promise<Counters> {
  const counters: Counters = { calls: 0, errors: 0, within: new Map() }
  const counts = (name = '') => !name.startsWith('v1:callplane.') && (operation ?? name) === name
  for (const { request } of sites) {
    const text = await (await request('/metrics', { headers })).text()
    for (const [, name, outcome, count] of text.matchAll(CALLS)) {
      if (!counts(name)) continue
      counters.calls += Number(count)
      if (outcome !== 'complete') counters.errors += Number(count)
    }
    for (const [, name, bound, count] of text.matchAll(BUCKETS)) {
      const ms = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound) * 1000
      if (counts(name)) counters.within.set(ms, (counters.within.get(ms) ?? 0) + Number(count))
    }
  }
  return counters
}

/** Between which bounds the duration is that this share of the calls did not exceed. */
export function boundsOf({ calls, within }: Counters, share: number): [from: number, to: number] {
  const bounds = [...within].sort(([one], [other]) => one - other)
  const at = bounds.findIndex(([, count]) => count >= share * calls)
  return [bounds[at - 1]?.[0] ?? 0, bounds[at]?.[0] ?? Number.NaN]
}

export function sumOf({ series }: Series, name: string): number {
  const values = series.filter((one) => one.name === name).flatMap((one) => one.values)
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

export function valuesOf({ series }: Series, name: string): (number | null)[] {
  return series.find((one) => one.name === name)?.values ?? []
}
