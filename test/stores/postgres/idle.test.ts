/** How often servers without calls ask their database. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createMemoryObjects } from '../../../src/testing/fakes/memory-objects.ts'
import { Node } from '../../engine/node.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { startPostgres } from '../../engines/postgres.ts'
import { createSchema } from './schemas.ts'

const SECONDS = 120

describeWith(postgresServer, 'servers without calls', () => {
  test('each sends at most one statement a second', async () => {
    await using server = await startPostgres({ settings: { shared_preload_libraries: 'pg_stat_statements' } })
    await server.query('CREATE EXTENSION pg_stat_statements')
    await using schema = createSchema(server)
    const clock = createManualClock()
    const objects = createMemoryObjects(() => clock.now())
    const operations = [operation('v1:work', { model: 'async', run: () => null })]
    const nodes: Node[] = []
    for (let n = 0; n < 2; n++) {
      const store = await schema.open({ clock, serverTime: () => clock.now() })
      nodes.push(new Node({ clock, objects, store }, { operations }))
    }
    const sent = async () => {
      const text = `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query LIKE '%${schema.name}%'`
      return (await server.query<{ calls: number }>(text))[0]?.calls ?? 0
    }
    /** Until the nodes have sent all that is due now. */
    const quiet = async () => {
      let [before, same] = [-1, 0]
      while (same < 3) {
        const now = await sent()
        same = now === before ? same + 1 : 0
        before = now
      }
      return before
    }
    for (const node of nodes) {
      await node.maintenance.start()
      node.engine.worker.wake()
    }
    clock.advance(20_000)
    const before = await quiet()

    // In short steps: a timer that is set again after its statement fires at most once in each.
    for (let passed = 0; passed < SECONDS; passed += 0.5) {
      clock.advance(500)
      await quiet()
    }

    const perSecond = ((await sent()) - before) / SECONDS / nodes.length
    expect(perSecond).toBeLessThanOrEqual(1)
    // Beats, claims and the lease of the leader: fewer would mean that the nodes did nothing.
    expect(perSecond).toBeGreaterThan(0.5)
    for (const node of nodes) await node.maintenance.stop()
    for (const node of nodes) await node.engine.worker.stop(0)
  }, 60_000)
})
