/** The load of two servers on one store, or of two workers of one server, is one series. */
import { type OperationDefinition, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { createLeapingClock, type LeapingClock } from '../leaping-clock.ts'
import type { Site } from '../server.ts'
import { readCounters, type Series, sumOf } from './load.ts'
import { createShop, workAt } from './operators.ts'

type Server = Pick<Site, 'call' | 'ended' | 'request'>

interface Two {
  here: Server
  there: Server
  /** Whose `/metrics` count all calls together. */
  metrics: readonly Server[]
}

type OpenTwo = (
  options: Pick<ServerOptions, 'auth'> & { operations: OperationDefinition[]; clock: LeapingClock },
) => Promise<Two>

export function loadStory(openTwo: OpenTwo): void {
  test('the load of both is in one series, which is the sum of their metrics', async () => {
    const clock = createLeapingClock()
    const shop = createShop()
    const add = operation('v1:math.add', { run: () => 3 })
    const fail = operation('v1:math.fail', { run: (_, ctx) => ctx.fail('NO', 'No.') })
    const { metrics, ...both } = await openTwo({ operations: [add, fail], auth: shop.auth, clock })
    const [here, there] = [workAt(both.here, shop), workAt(both.there, shop)]
    const read = (at: typeof here, of?: string) =>
      at.result<Series>('reader', 'v1:callplane.metrics.series', {
        stepSeconds: 10,
        ...(of !== undefined && { operation: of }),
      })
    const counted = (of?: string) => readCounters(metrics, shop.people.reader.headers, of)

    for (const [atHere, atThere] of [
      [3, 2],
      [0, 4],
      [5, 0],
    ] as const) {
      for (let n = 0; n < atHere; n++) await here.as('ada', 'v1:math.add')
      for (let n = 0; n < atThere; n++) await there.as('ada', n === 0 ? 'v1:math.fail' : 'v1:math.add')
      clock.leap(10_000)
      const { calls } = await counted()
      await expect.poll(async () => sumOf(await read(here), 'calls'), { timeout: 10_000 }).toBe(calls)
    }

    const [all, same] = [await read(here), await read(there)]
    const { calls, errors } = await counted()
    expect([calls, errors]).toEqual([14, 2])
    for (const seen of [all, same]) expect([sumOf(seen, 'calls'), sumOf(seen, 'errors')]).toEqual([calls, errors])
    expect(sumOf(await read(there, 'v1:math.add'), 'calls')).toBe((await counted('v1:math.add')).calls)
    const nodes = all.series.filter(({ name }) => name === 'memoryBytes').map(({ node }) => node)
    // After a leap of the clock, one may take the other for dead, which then goes on under a new number.
    expect(new Set(nodes).size).toBeGreaterThanOrEqual(2)
  })
}
