/** A cell that loses its database for a time, or one of its nodes: refused calls, the backlog, and the recovery. */
import { createRandom, quantile } from '../statistics.ts'
import { Cell, type CellShape } from './cell.ts'
import type { Costs } from './costs.ts'
import { LEASE_S, RETRY_AFTER_S } from './hardware.ts'
import { arrive, MILLISECOND_US } from './load.ts'
import { Timeline } from './timeline.ts'

export interface Outage {
  /** How long the database is away. 0: it stays. */
  databaseS: number
  /** How many nodes die. */
  nodes: number
}

export interface OutageResult {
  /** Calls that were refused at least once. Each was made again until it was accepted. */
  refused: number
  /** The most calls that waited in the nodes and at their callers. */
  peakBacklog: number
  /** From the end of the outage until no more calls wait than before. */
  recoveryS: number
  /** Of the calls that the cell accepted after the outage began. */
  p99Ms: number
  /** Calls of the dead nodes, which others run when their leases are over. */
  takenOver: number
}

const BEFORE_S = 2
const AFTER_S = 300
const LOOK_US = 100_000

export function simulateOutage(costs: Costs, shape: CellShape, perSecond: number, outage: Outage): OutageResult {
  const timeline = new Timeline()
  const random = createRandom(2)
  const cell = new Cell(timeline, costs, shape)
  let [refused, retrying, peakBacklog, takenOver] = [0, 0, 0, 0]

  /** Comes back until it is accepted. Refused calls of one moment spread their repeats. */
  const offer = (calls: number, isNew: boolean) => {
    const living = cell.nodes.filter(({ isDead }) => !isDead)
    const node = living[Math.floor(random() * living.length)]
    if (!cell.isDown) {
      if (!isNew) retrying -= calls
      return node?.submit(new Array<number>(calls).fill(timeline.nowUs))
    }
    if (isNew) refused += calls
    if (isNew) retrying += calls
    const pauseUs = RETRY_AFTER_S * (1 + random()) * 1_000_000
    timeline.after(pauseUs, () => offer(calls, false))
  }
  const refuse = (calls: number) => {
    if (cell.isDown) offer(calls, true)
    return cell.isDown
  }
  arrive(timeline, cell, perSecond, random, refuse, MILLISECOND_US)

  timeline.runUntil(BEFORE_S * 1_000_000)
  const usual = waitingIn(cell)
  cell.latenciesUs.length = 0
  if (outage.databaseS > 0) cell.stopDatabase()
  for (const node of cell.nodes.slice(cell.nodes.length - outage.nodes)) {
    node.isDead = true
    takenOver += node.open
  }
  if (takenOver > 0)
    timeline.after(LEASE_S * 1_000_000, () => cell.nodes[0]?.submit(new Array(takenOver).fill(timeline.nowUs)))
  if (outage.databaseS > 0) timeline.after(outage.databaseS * 1_000_000, () => cell.startDatabase())
  const endUs = (BEFORE_S + outage.databaseS) * 1_000_000
  let recoveredUs: number | undefined
  for (let atUs = timeline.nowUs + LOOK_US; atUs <= endUs + AFTER_S * 1_000_000; atUs += LOOK_US) {
    timeline.runUntil(atUs)
    const backlog = waitingIn(cell) + retrying
    peakBacklog = Math.max(peakBacklog, backlog)
    const isOver = atUs > endUs && retrying === 0 && waitingIn(cell) <= 2 * usual + perSecond / 100
    if (isOver) recoveredUs ??= atUs
    if (isOver && atUs > endUs + 2_000_000) break
  }
  const latencies = Float64Array.from(cell.latenciesUs).sort() as unknown as number[]
  return {
    refused,
    peakBacklog,
    recoveryS: recoveredUs === undefined ? Number.POSITIVE_INFINITY : (recoveredUs - endUs) / 1_000_000,
    p99Ms: quantile(latencies, 0.99) / 1000,
    takenOver,
  }
}

function waitingIn(cell: Cell): number {
  return cell.nodes.reduce((sum, { waiting, isDead }) => sum + (isDead ? 0 : waiting), 0)
}
