/** A series of sizes: the rows of its points, each compared with the smallest, and whether the cost stays flat. */
import { relativeOf, summarise } from '../statistics.ts'
import type { Findings, Goal, Row } from './suite.ts'

export const MODELS = ['sync', 'async'] as const

export type Model = (typeof MODELS)[number]

export interface GrowthPoint {
  size: number
  /** CPU µs per call, one figure per round. */
  cpuUs: readonly number[]
  perSecond: readonly number[]
}

/** The thing that grows, in the plural. */
export const GROWING = ['operations', 'stored instances', 'connections'] as const

export type Growing = (typeof GROWING)[number]

/** Maximum cost of a call relative to the smallest size. Paired rounds cannot resolve a smaller difference. */
const FLAT = 1.15

export function seriesFindings(growing: Growing, points: Readonly<Record<Model, readonly GrowthPoint[]>>): Findings {
  return {
    rows: MODELS.flatMap((model) => points[model].map((point) => rowOf(growing, model, point, points[model]))),
    goals: MODELS.map((model) => goalOf(growing, model, points[model])),
  }
}

function contenderOf(growing: Growing, size: number, model: Model): string {
  return `callplane, ${size.toLocaleString('en')} ${growing}, ${model}`
}

function rowOf(growing: Growing, model: Model, point: GrowthPoint, all: readonly GrowthPoint[]): Row {
  const smallest = all[0] as GrowthPoint
  const { median, low, high } = summarise(point.cpuUs)
  return {
    suite: 'growth',
    contender: contenderOf(growing, point.size, model),
    cpuUs: median,
    perSecond: summarise(point.perSecond).median,
    ...relativeOf(point.cpuUs.map((cpuUs, round) => (smallest.cpuUs[round] as number) / cpuUs)),
    limit: contenderOf(growing, smallest.size, model),
    figures: { [growing]: point.size, 'low µs': low, 'high µs': high },
  }
}

function goalOf(growing: Growing, model: Model, points: readonly GrowthPoint[]): Goal {
  const smallest = points[0] as GrowthPoint
  const largest = points.at(-1) as GrowthPoint
  const ratios = largest.cpuUs.map((cpuUs, round) => cpuUs / (smallest.cpuUs[round] as number))
  const { median, low, high } = summarise(ratios)
  const size = (count: number) => count.toLocaleString('en')
  return {
    suite: 'growth',
    name: `${model} calls, ${size(smallest.size)} to ${size(largest.size)} ${growing}`,
    goal: `at most ${FLAT} times the CPU per call`,
    measured: `${median.toFixed(2)} times (middle half ${low.toFixed(2)}–${high.toFixed(2)} of ${ratios.length} rounds)`,
    met: median <= FLAT,
  }
}
