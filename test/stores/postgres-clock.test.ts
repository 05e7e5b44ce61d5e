/** The clock that follows a database server's. */
import { expect, test } from 'vitest'
import { DatabaseClock } from '../../src/stores/postgres/nodes/database-clock.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'

async function follow(aheadMs: number) {
  const clock = createManualClock(0)
  const lines: LogLine[] = []
  const database = new DatabaseClock({ clock, log: createMemoryLog(lines) })
  await database.measure(async () => clock.monotonicMs() + aheadMs)
  const measure = (ms: number) => database.measure(async () => clock.monotonicMs() + ms)
  return { clock, database, measure, lines }
}

test("it shows the server's time, even if the node's own clock is set", async () => {
  const { clock, database } = await follow(5_000)

  clock.advance(1_000)
  clock.set(3_600_000)

  expect(database.now()).toBe(6_000)
})

test('a small correction is spread over time in both directions, and time never runs backwards', async () => {
  const { clock, database, measure, lines } = await follow(5_000)

  await measure(4_900)
  const slow: number[] = []
  for (let n = 0; n < 20; n++) {
    clock.advance(100)
    slow.push(database.now())
  }
  await measure(5_000)
  clock.advance(500)
  const catchingUp = database.now()
  clock.advance(1_000)

  expect(slow[0]).toBe(5_090)
  expect(slow.at(-1)).toBe(6_900)
  expect(slow).toEqual(slow.toSorted((a, b) => a - b))
  expect([catchingUp, database.now()]).toEqual([7_450, 8_500])
  expect(lines).toEqual([])
})

test('a large step forward is followed at once, and one back is not: the clock then runs slower', async () => {
  const { clock, database, measure, lines } = await follow(5_000)

  await measure(65_000)
  const forward = database.now()
  await measure(5_000)
  const back = database.now()
  clock.advance(1_000)

  expect([forward, back, database.now()]).toEqual([65_000, 65_000, 65_900])
  expect(lines.map(({ level, fields }) => [level, fields.stepMs])).toEqual([
    ['warn', 60_000],
    ['warn', -60_000],
  ])
})

test('a reading that took long is left out', async () => {
  const { clock, database, lines } = await follow(5_000)

  await database.measure(async () => {
    clock.advance(20_000)
    return clock.monotonicMs() + 5_000
  })

  expect(database.now()).toBe(25_000)
  expect(lines).toEqual([])
})
