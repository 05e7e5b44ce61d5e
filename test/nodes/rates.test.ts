/** Rates of callers, counts of open calls, and stop requests, shared by nodes on one database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import type { Peers, SharedLimits } from '../../src/core/ports/peers.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { createManualClock, type ManualClock } from '../../src/testing/fakes/clock.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { createSchema, type Schema } from '../stores/postgres/schemas.ts'

const limitsOf = ({ peers }: Store) => (peers as Peers).limits

/** Nodes whose clocks move together. */
async function openLimits(schema: Schema, clock: ManualClock, count: number): Promise<SharedLimits[]> {
  const nodes: SharedLimits[] = []
  for (let n = 0; n < count; n++) nodes.push(limitsOf(await schema.open({ clock, serverTime: () => clock.now() })))
  return nodes
}

describeWith(postgresServer, 'rates and counts of several nodes', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('all nodes together let through the burst and the rate, and at most 0.2 s of the rate more', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const nodes = await openLimits(schema, clock, 3)
    const rules = { capacity: 40, msPerToken: 5 }
    let passed = 0
    const SECONDS = 2

    for (let ms = 0; ms < SECONDS * 1_000; ms += 10) {
      const waits = await Promise.all(
        Array.from({ length: 6 }, (_, n) => nodes[(n + ms / 10) % 3]?.takeToken(rules, 'ada')),
      )
      passed += waits.filter((waitMs) => waitMs === 0).length
      clock.advance(10)
    }

    expect(passed).toBeLessThanOrEqual(40 + 200 * (SECONDS + 0.2))
    // What a node takes in advance and does not use is not lost for the others.
    expect(passed).toBeGreaterThan(0.9 * (40 + 200 * SECONDS))
  }, 30_000)

  test('a caller below its rate is never refused, whichever node it calls, and keeps its burst', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const nodes = await openLimits(schema, clock, 2)
    const rules = { capacity: 20, msPerToken: 100 }
    const waits: (number | undefined)[] = []

    for (let n = 0; n < 60; n++) {
      waits.push(await nodes[n % 2]?.takeToken(rules, 'ada'))
      clock.advance(110)
      // The tokens that were not used are given back.
      await Promise.all(nodes.map((node) => node.takeToken(rules, 'lin')))
    }

    clock.advance(1_000)
    const burst = await Promise.all(Array.from({ length: 30 }, () => nodes[0]?.takeToken(rules, 'ada')))

    expect(waits.filter((waitMs) => waitMs !== 0)).toEqual([])
    expect(burst.filter((waitMs) => waitMs === 0)).toHaveLength(20)
  }, 30_000)

  test('most calls of a caller with tokens left need no question to the database', async () => {
    await using schema = createSchema(server)
    const [node] = (await openLimits(schema, createManualClock(), 1)) as [SharedLimits]
    const rules = { capacity: 1_000, msPerToken: 1 }

    let questions = 0
    for (let n = 0; n < 300; n++) {
      const taken = node.takeToken(rules, 'ada')
      if (typeof taken !== 'number') questions++
      expect(await taken).toBe(0)
    }

    expect(questions).toBeLessThan(10)
  })

  test('a refused caller is told when to come back, and asking again costs no question', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const [one, other] = (await openLimits(schema, clock, 2)) as [SharedLimits, SharedLimits]
    const rules = { capacity: 1, msPerToken: 1_000 }

    expect(await one.takeToken(rules, 'ada')).toBe(0)
    clock.advance(200)
    const waitMs = await other.takeToken(rules, 'ada')
    const again = other.takeToken(rules, 'ada')
    clock.advance(800)

    expect(waitMs).toBe(800)
    expect(again).toBe(800)
    expect(await other.takeToken(rules, 'ada')).toBe(0)
    expect(await one.takeToken(rules, 'lin')).toBe(0)
  })

  test('without its database a node limits rates for itself', async () => {
    await using own = await startPostgres()
    await using schema = createSchema(own)
    const store = await schema.open({ clock: systemClock })
    const rules = { capacity: 3, msPerToken: 60_000 }

    await own.stop()
    const waits: number[] = []
    for (let n = 0; n < 5; n++) waits.push(await limitsOf(store).takeToken(rules, 'ada'))
    await own.restart()

    expect(waits.map((waitMs) => waitMs === 0)).toEqual([true, true, true, false, false])
  }, 60_000)

  test('open and queued calls are reported to the other nodes, and only what did not end soon', async () => {
    await using schema = createSchema(server)
    const [one, other] = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })]
    const counted: unknown[] = []
    limitsOf(other).listen({ counted: (...counts) => counted.push(counts), kept() {} })
    const ada = { tenant: 'main', owner: 'none|äda\u0000' }

    limitsOf(one).counted(ada, 1)
    limitsOf(one).counted(ada, 1)
    limitsOf(one).counted({ tenant: 'main', owner: 'none|lin' }, 1)
    limitsOf(one).counted({ tenant: 'main', owner: 'none|lin' }, -1)
    limitsOf(one).counted(undefined, 3)

    await expect.poll(() => counted, { timeout: 10_000 }).toEqual([[[['main', ada.owner, 2]], 3]])
  }, 20_000)

  test('a stop request reaches the other nodes', async () => {
    await using schema = createSchema(server)
    const nodes = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })] as const
    const stops: [string, Fault][] = []
    for (const { peers } of nodes) peers?.siblings.listen((...stop) => stops.push(stop))

    nodes[0].peers?.siblings.stop('c1', new Fault('canceled', 'The caller canceled the call.'))

    await expect.poll(() => stops, { timeout: 10_000 }).toMatchObject([['c1', { kind: 'canceled' }]])
  })
})
