/** A commit whose answer comes late: other nodes may have changed the call since. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { createSchema } from './schemas.ts'

const CLAIM = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }

describeWith(postgresServer, 'answers of Postgres that come late', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('a change with records returns the call as it was changed, not as another node has claimed it since', async () => {
    await using schema = createSchema(server)
    await using proxy = await startLossyProxy(server)
    const clock = createManualClock()
    const open = (url?: string) => schema.open({ clock, serverTime: () => clock.now(), ...(url && { url }) })
    const [here, there] = [await open(proxy.url), await open()]
    const call = sampleInstance(clock.now(), { dueAt: clock.now() })
    await here.accept(call)
    const [mine] = (await here.claim(CLAIM)).instances as [Instance]
    const commit = proxy.keepBack('COMMIT\0')
    const { id, state, attempt } = mine
    const records = [{ key: 'approval', expected: null, value: 'used' }]
    const advancing = here.advance({ id, from: [state], to: state, attempt, dueAt: clock.now() + 30_000, records })
    await commit.kept
    clock.advance(30_000)
    const [taken] = (await there.claim(CLAIM)).instances

    commit.release()

    expect(taken).toMatchObject({ id, attempt: 2 })
    expect(await advancing).toMatchObject({ applied: true, instance: { attempt: 1 } })
    expect(await here.extend([{ id, attempt: 1 }], 30_000)).toMatchObject([{ held: false }])
  })
})
