/** Load on a simulated cell: submitters that wait for their calls, or arrivals at a rate. */
import { quantile } from '../statistics.ts'
import { Cell, type CellShape } from './cell.ts'
import type { Costs } from './costs.ts'
import { Timeline } from './timeline.ts'

export interface Simulated {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Calls per statement, on average. */
  batch: number
  /** Shares of the time in which they were busy. */
  postgresBusy: number
  nodeBusy: number
  /** Of the bandwidth of the log's disk. */
  walBusy: number
  /** The share of the time in which the disk flushes. */
  flushBusy: number
  walBytesPerSecond: number
  flushesPerSecond: number
  /** Calls that have not ended. */
  backlog: number
}

/** Arrivals are put together for this long, as a turn of the event loop does it. */
const TICK_US = 250
export const MILLISECOND_US = 1_000
const WARM_UP_US = 200_000

export function simulateSubmitters(costs: Costs, shape: CellShape, submitters: number, seconds: number): Simulated {
  const timeline = new Timeline()
  const cell = new Cell(timeline, costs, shape)
  cell.onEnded = (calls, node) => node.submit(Array.from({ length: calls }, () => timeline.nowUs))
  for (const node of cell.nodes) node.submit(Array.from({ length: Math.ceil(submitters / shape.nodes) }, () => 0))
  return observe(timeline, cell, seconds)
}

export function simulateArrivals(
  costs: Costs,
  shape: CellShape,
  perSecond: number,
  seconds: number,
  random: () => number,
): Simulated {
  const timeline = new Timeline()
  const cell = new Cell(timeline, costs, shape)
  arrive(timeline, cell, perSecond, random)
  return observe(timeline, cell, seconds)
}

/** Starts Poisson arrivals, spread evenly over the living nodes. `refuse` may take them instead. */
export function arrive(
  timeline: Timeline,
  cell: Cell,
  perSecond: number,
  random: () => number,
  refuse: (calls: number) => boolean = () => false,
  tickUs = TICK_US,
): void {
  let turn = 0
  const tick = () => {
    const living = cell.nodes.filter(({ isDead }) => !isDead)
    const calls = poisson((perSecond * tickUs) / 1_000_000, random)
    timeline.after(tickUs, tick)
    if (calls === 0 || refuse(calls)) return
    const each = living.map(() => [] as number[])
    for (let call = 0; call < calls; call++) each[turn++ % living.length]?.push(timeline.nowUs - random() * tickUs)
    living.forEach((node, at) => void node.submit(each[at] ?? []))
  }
  timeline.after(tickUs, tick)
}

/** Below 30 by multiplying draws (Knuth); above, the normal distribution is close enough. */
function poisson(mean: number, random: () => number): number {
  if (mean > 30) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal))
  }
  const limit = Math.exp(-mean)
  let count = 0
  for (let product = random(); product > limit; product *= random()) count++
  return count
}

function observe(timeline: Timeline, cell: Cell, seconds: number): Simulated {
  timeline.runUntil(WARM_UP_US)
  const before = readings(cell)
  cell.latenciesUs.length = 0
  timeline.runUntil(WARM_UP_US + seconds * 1_000_000)
  const after = readings(cell)
  const us = seconds * 1_000_000
  const latencies = Float64Array.from(cell.latenciesUs).sort()
  const at = (q: number) => quantile(latencies as unknown as number[], q) / 1000
  return {
    perSecond: (after.ended - before.ended) / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    batch: (after.batchedCalls - before.batchedCalls) / (after.batches - before.batches),
    postgresBusy: (after.postgresUs - before.postgresUs) / us / cell.postgres.count,
    nodeBusy: (after.nodeUs - before.nodeUs) / us / cell.nodes.length,
    walBusy: (after.bytes - before.bytes) / seconds / cell.log.bytesPerSecond,
    flushBusy: (after.logUs - before.logUs) / us,
    walBytesPerSecond: (after.bytes - before.bytes) / seconds,
    flushesPerSecond: (after.flushes - before.flushes) / seconds,
    backlog: cell.nodes.reduce((sum, { waiting }) => sum + waiting, 0),
  }
}

function readings({ ended, batches, batchedCalls, postgres, log, nodes }: Cell) {
  return {
    ended,
    batches,
    batchedCalls,
    postgresUs: postgres.busyUs,
    logUs: log.busyUs,
    bytes: log.bytes,
    flushes: log.flushes,
    nodeUs: nodes.reduce((sum, { process }) => sum + process.busyUs, 0),
  }
}
