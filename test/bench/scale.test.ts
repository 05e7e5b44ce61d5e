/** The simulation behind docs/scale.md: its parts have the properties that the capacity model relies on. */
import { expect, test } from 'vitest'
import type { CellShape } from '../../bench/scale/cell.ts'
import { costOfBatch, fitCost } from '../../bench/scale/costs.ts'
import { simulateArrivals, simulateSubmitters } from '../../bench/scale/load.ts'
import { simulateOutage } from '../../bench/scale/outage.ts'
import { Log } from '../../bench/scale/resources.ts'
import { loadsOf } from '../../bench/scale/routing.ts'
import { Timeline } from '../../bench/scale/timeline.ts'
import { createRandom } from '../../bench/statistics.ts'

const costs = {
  node: { call: 40, batch: 60 },
  postgres: { call: 25, batch: 150 },
  kernel: { call: 0, batch: 0 },
  wal: { call: 800, batch: 150 },
  flushUs: 300,
}

const shape: CellShape = {
  nodes: 2,
  postgresCores: 4,
  nodeCores: 2,
  device: { flushUs: 300, bytesPerSecond: 500_000_000, standbyUs: 0 },
  networkUs: 100,
  httpUs: 0,
}

test('events run in the order of their times, and those of one time in the order in which they were added', () => {
  const timeline = new Timeline()
  const seen: string[] = []
  for (const [name, at] of [
    ['d', 30],
    ['b', 10],
    ['a', 5],
    ['c', 10],
  ] as const)
    timeline.after(at, () => seen.push(name))

  timeline.runUntil(20)
  expect(seen).toEqual(['a', 'b', 'c'])
  timeline.runUntil(30)
  expect(seen).toEqual(['a', 'b', 'c', 'd'])
})

test('commits that arrive during a flush share the next one', () => {
  const timeline = new Timeline()
  const log = new Log(timeline, { flushUs: 100, bytesPerSecond: 1_000_000_000, standbyUs: 0 })
  const doneAt: number[] = []
  log.commit(0, () => doneAt.push(timeline.nowUs))
  timeline.after(10, () => log.commit(0, () => doneAt.push(timeline.nowUs)))
  timeline.after(90, () => log.commit(0, () => doneAt.push(timeline.nowUs)))

  timeline.runUntil(1_000)

  expect(doneAt).toEqual([100, 200, 200])
  expect(log.flushes).toBe(2)
})

test('the costs of calls and batches are found again from what calls cost in batches of different sizes', () => {
  const truth = { call: 25, batch: 150 }
  const points = [1, 4, 16, 64].map((size) => [size, (costOfBatch(truth, size) / size) * 2] as const)

  const { call, batch } = fitCost(points)

  expect(call).toBeCloseTo(25)
  expect(batch).toBeCloseTo(150)
})

test('more submitters make larger batches, and a call costs less', () => {
  const few = simulateSubmitters(costs, shape, 4, 0.2)
  const many = simulateSubmitters(costs, shape, 512, 0.2)

  expect(few.batch).toBeLessThan(4)
  expect(many.batch).toBeGreaterThan(32)
  expect(many.postgresBusy / many.perSecond).toBeLessThan(few.postgresBusy / few.perSecond / 3)
})

test('what the kernel does for a call takes cores of the database, and is not waited for', () => {
  const busy = { ...costs, kernel: { call: 20, batch: 0 } }
  const small = { ...shape, postgresCores: 1 }

  expect(simulateSubmitters(busy, small, 512, 0.2).perSecond).toBeLessThan(
    simulateSubmitters(costs, small, 512, 0.2).perSecond * 0.8,
  )
  expect(simulateArrivals(busy, shape, 1_000, 0.5, createRandom(1)).p50Ms).toBeCloseTo(
    simulateArrivals(costs, shape, 1_000, 0.5, createRandom(1)).p50Ms,
    1,
  )
})

test('a cell ends the calls that arrive, as long as its nodes keep up', () => {
  const within = simulateArrivals(costs, shape, 20_000, 0.5, createRandom(1))
  const beyond = simulateArrivals(costs, shape, 80_000, 0.5, createRandom(1))

  expect(within.perSecond).toBeGreaterThan(19_000)
  expect(within.p99Ms).toBeLessThan(50)
  expect(beyond.perSecond).toBeLessThan(60_000)
  expect(beyond.nodeBusy).toBeGreaterThan(0.95)
})

test('calls that are refused while a database fails over are all accepted later', () => {
  const calm = simulateOutage(costs, shape, 5_000, { databaseS: 0, nodes: 0 })
  const failover = simulateOutage(costs, shape, 5_000, { databaseS: 3, nodes: 0 })
  const withoutNode = simulateOutage(costs, shape, 5_000, { databaseS: 3, nodes: 1 })

  expect(calm.refused).toBe(0)
  expect(failover.refused).toBeGreaterThan(14_000)
  expect(failover.recoveryS).toBeLessThan(10)
  expect(withoutNode.recoveryS).toBeGreaterThanOrEqual(failover.recoveryS)
})

test('slots spread equal callers over cells, and a large caller stays in one', () => {
  const equal = loadsOf(10, 50_000, 0, 1_000)
  const skewed = loadsOf(10, 50_000, 1, 1_000)

  expect(Math.max(...equal.loads)).toBeLessThan(110)
  expect(Math.max(...skewed.loads)).toBeGreaterThan(skewed.largestCaller)
  expect(skewed.loads.reduce((sum, load) => sum + load, 0)).toBeCloseTo(1_000)
})
