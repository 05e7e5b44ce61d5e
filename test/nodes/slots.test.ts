/** Slots of operations with a concurrency limit, shared by nodes on one database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SharedLimits } from '../../src/core/ports/peers.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { startLossyProxy } from '../stores/postgres/lossy-proxy.ts'
import { createSchema, type Schema } from '../stores/postgres/schemas.ts'

const OPERATION = 'v1:press.print@1.0.0'

/** A node as the engine uses it: `kept` slots are queued up for `next`. */
class User {
  readonly limits: SharedLimits
  readonly kept: string[] = []
  #waiting: (() => void) | undefined

  constructor(store: Store) {
    this.limits = store.peers?.limits as SharedLimits
    this.limits.listen({
      counted() {},
      kept: (operation) => {
        this.kept.push(operation)
        this.#waiting?.()
      },
    })
  }

  async take(most: number): Promise<void> {
    if (await this.limits.enter(OPERATION, most, true)) return
    while (this.kept.length === 0)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    this.kept.pop()
  }
}

async function openUsers(schema: Schema, count: number): Promise<User[]> {
  const users: User[] = []
  for (let n = 0; n < count; n++) users.push(new User(await schema.open({ clock: systemClock })))
  return users
}

function addNode({ server, name }: Schema, node: number, aliveUntil: number): Promise<unknown> {
  const low = '00000000-0000-0000-0000-000000000000'
  return server.query(`INSERT INTO ${name}.nodes (node, alive_until, low, counts) VALUES ($1, $2, $3, '[]')`, [
    node,
    aliveUntil,
    low,
  ])
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describeWith(postgresServer, 'slots of several nodes', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('never more than the limit are taken at once, and every node gets its turns', async () => {
    await using schema = createSchema(server)
    const users = await openUsers(schema, 3)
    let [taken, most] = [0, 0]
    const done = users.map(() => 0)

    await Promise.all(
      users.map(async (user, n) => {
        for (let turns = 0; turns < 20; turns++) {
          await user.take(2)
          most = Math.max(most, ++taken)
          await server.query('SELECT')
          taken--
          user.limits.leave(OPERATION)
          done[n] = turns + 1
        }
      }),
    )

    expect([most, done]).toEqual([2, [20, 20, 20]])
  }, 30_000)

  test('a node that uses an operation alone asks the database once', async () => {
    await using schema = createSchema(server)
    const [user] = (await openUsers(schema, 1)) as [User]
    const step = async () => (await server.query(`SELECT step FROM ${schema.name}.slots`))[0]?.step

    await user.take(1)
    const before = await step()
    for (let n = 0; n < 100; n++) {
      user.limits.leave(OPERATION)
      await user.take(1)
    }

    expect(before).toBe('1')
    expect(await step()).toBe('1')
  })

  test('waiting nodes get slots in the order of their requests', async () => {
    await using schema = createSchema(server)
    const users = await openUsers(schema, 4)
    const [first, ...others] = users as [User, ...User[]]
    await first.take(1)
    const order: number[] = []
    for (const [n, user] of others.entries()) {
      expect(await user.limits.enter(OPERATION, 1, true)).toBe(false)
      void (async () => {
        while (user.kept.length === 0) await turn()
        order.push(n)
        user.limits.leave(OPERATION)
      })()
    }
    first.limits.leave(OPERATION)

    await expect.poll(() => order, { timeout: 10_000 }).toEqual([0, 1, 2])
  }, 30_000)

  test('a free slot that another node waits for is not given to a later one', async () => {
    await using schema = createSchema(server)
    const [user] = (await openUsers(schema, 1)) as [User]
    await user.take(9)
    // A node that has not noticed yet that a slot is free.
    await addNode(schema, 99, 1e15)
    await server.query(`UPDATE ${schema.name}.slot_books SET turns = 1`)
    await server.query(
      `INSERT INTO ${schema.name}.slots (operation, node, step, held, turn) VALUES ($1, 99, 1, 0, 1)`,
      [OPERATION],
    )

    expect(await user.limits.enter(OPERATION, 2, false)).toBe(false)
    expect(await user.limits.enter(OPERATION, 3, false)).toBe(true)
  })

  test('a slot that another node has and does not use is given back when it is needed', async () => {
    await using schema = createSchema(server)
    const [one, other] = (await openUsers(schema, 2)) as [User, User]
    await one.take(1)
    one.limits.leave(OPERATION)

    await expect.poll(() => other.limits.enter(OPERATION, 1, false)).toBe(true)
    expect(await one.limits.enter(OPERATION, 1, false)).toBe(false)
  })

  test('a call that runs without asking takes a slot from the others', async () => {
    await using schema = createSchema(server)
    const [one, other] = (await openUsers(schema, 2)) as [User, User]

    for (let n = 0; n < 3; n++) one.limits.entered(OPERATION)
    await expect
      .poll(() => server.query(`SELECT held FROM ${schema.name}.slots`), { timeout: 5_000 })
      .toEqual([{ held: 3 }])
    const refused = await other.limits.enter(OPERATION, 2, false)
    for (let n = 0; n < 2; n++) one.limits.leave(OPERATION)

    expect(refused).toBe(false)
    await expect.poll(() => other.limits.enter(OPERATION, 2, false), { timeout: 5_000 }).toBe(true)
  })

  test('the slots of a node that died are free after a while, and not before', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const other = new User(await schema.open({ clock, serverTime: () => clock.now() }))
    // A node that answers no hint any more.
    await addNode(schema, 99, clock.now() + 8_000)
    await server.query(
      `INSERT INTO ${schema.name}.slots (operation, node, step, held, turn) VALUES ($1, 99, 1, 1, NULL)`,
      [OPERATION],
    )

    const refused = [await other.limits.enter(OPERATION, 1, true)]
    for (const ms of [8_100, 2_900]) {
      clock.advance(ms)
      refused.push(await other.limits.enter(OPERATION, 1, true))
    }
    const early = other.kept.length
    clock.advance(1_000)

    expect([refused, early]).toEqual([[false, false, false], 0])
    await expect.poll(() => other.kept, { timeout: 10_000 }).toEqual([OPERATION])
  })

  test('a node that was taken for dead keeps the slots of its running calls, and no others', async () => {
    await using schema = createSchema(server)
    const [one, other] = (await openUsers(schema, 2)) as [User, User]
    await one.take(3)
    await one.take(3)
    one.limits.leave(OPERATION)

    await server.query(`DELETE FROM ${schema.name}.nodes WHERE node = (SELECT node FROM ${schema.name}.slots)`)
    await expect
      .poll(() => server.query(`SELECT count(*)::int AS nodes FROM ${schema.name}.nodes`), { timeout: 10_000 })
      .toEqual([{ nodes: 2 }])
    await expect.poll(() => server.query(`SELECT held FROM ${schema.name}.slots`)).toEqual([{ held: 1 }])
    const got = [await other.limits.enter(OPERATION, 3, false), await other.limits.enter(OPERATION, 3, false)]

    expect(got).toEqual([true, true])
    expect(await other.limits.enter(OPERATION, 3, false)).toBe(false)
  }, 30_000)

  test('slots stay exact while connections are cut and answers are lost', async () => {
    await using schema = createSchema(server)
    await using proxy = await startLossyProxy(server)
    const { url } = proxy
    const users = await Promise.all([1, 2, 3].map(async () => new User(await schema.open({ clock: systemClock, url }))))
    let [taken, most] = [0, 0]
    proxy.loseEvery(3)

    await Promise.all(
      users.map(async (user) => {
        // Until enough answers were lost: how many a turn needs depends on the others.
        for (let n = 0; n < 5 || proxy.lost < 3; ) {
          try {
            await user.take(2)
          } catch {
            await turn()
            continue
          }
          most = Math.max(most, ++taken)
          await server.query('SELECT')
          taken--
          user.limits.leave(OPERATION)
          n++
        }
      }),
    )
    proxy.loseEvery(Number.POSITIVE_INFINITY)

    expect(most).toBeLessThanOrEqual(2)
  }, 60_000)
})
