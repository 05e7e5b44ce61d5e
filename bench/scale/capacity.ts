/** How many calls a cell takes at most, and which of its resources is then the busiest. */
import { createRandom } from '../statistics.ts'
import type { CellShape } from './cell.ts'
import type { Costs } from './costs.ts'
import { PLANNED } from './hardware.ts'
import { type Simulated, simulateArrivals } from './load.ts'

export interface Capacity {
  /** The highest rate that the cell keeps up with. */
  most: number
  /** The resource that was the busiest at that rate. */
  first: string
  /** The rate to plan with, and what the cell does then. */
  planned: number
  atPlanned: Simulated
}

const SECONDS = 0.4
/** More than a node can take, for each node. */
const MOST = 50_000
const STEPS = 9
const P99_MS = 100

/** Searches by halving. Resources are not busy in proportion to the load, because larger batches cost less a call. */
export function capacityOf(costs: Costs, shape: CellShape): Capacity {
  const run = (perSecond: number) => simulateArrivals(costs, shape, perSecond, SECONDS, createRandom(1))
  let [low, high] = [0, MOST * shape.nodes]
  let first = ''
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2
    const simulated = run(middle)
    if (simulated.perSecond > 0.97 * middle && simulated.p99Ms < P99_MS) low = middle
    else {
      high = middle
      first = busiest(simulated).name
    }
  }
  return { most: low, first, planned: low * PLANNED, atPlanned: run(low * PLANNED) }
}

/** A disk that flushes all the time is not full, because commits share flushes. Its bandwidth is the limit. */
export function busiest({ postgresBusy, nodeBusy, walBusy }: Simulated): { name: string; busy: number } {
  const resources = [
    { name: 'CPU of the nodes', busy: nodeBusy },
    { name: 'CPU of Postgres', busy: postgresBusy },
    { name: 'WAL bandwidth', busy: walBusy },
  ]
  return resources.reduce((most, each) => (each.busy > most.busy ? each : most))
}
