/** Calls of one batch: values that all of them share are sent once, and a node need not read what it has queued itself. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { Change, Store } from '../../../src/core/ports/store.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { createSchema } from './schemas.ts'

const clock = systemClock
const LEASE_MS = 30_000

/** Accepted in one turn of the event loop, so that they share a statement. */
async function acceptTogether(
  store: Store,
  instances: readonly Instance[],
): Promise<readonly (Instance | undefined)[]> {
  const accepted = await Promise.all(instances.map((instance) => store.accept(instance)))
  expect(accepted.every(({ kind }) => kind === 'created')).toBe(true)
  return Promise.all(instances.map(({ id }) => store.get(id)))
}

const ending = ({ id, attempt }: Instance, value: number): Change => ({
  id,
  from: statesBefore('complete'),
  to: 'complete',
  attempt,
  outcome: { kind: 'result', value },
  endedAt: clock.now() + value,
})

describeWith(postgresServer, 'calls of one batch', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('are stored as they are, whichever of their values are the same', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock })
    const now = clock.now()
    const owner = (name: string) => ({
      owner: `none|${name}`,
      caller: { ...sampleInstance(now).caller, subject: name },
    })
    const { dueAt: _dueAt, ...unhurried } = sampleInstance(now)
    const same = { createdAt: now, expiresAt: now + 60_000, keepUntil: now + 70_000, dueAt: now + LEASE_MS }
    const begun = { state: 'pending', attempt: 1, ...same } as const
    const batches: Instance[][] = [
      [1, 2, 3].map(() => ({ ...sampleInstance(now), ...same })),
      // Created one after the other, with the same spans.
      [1, 2, 3].map((at) => ({
        ...sampleInstance(now),
        createdAt: now + at,
        expiresAt: now + at + 60_000,
        keepUntil: now + at + 60_000,
        dueAt: now + at,
      })),
      ['ada', 'grace', 'ada'].map((name) => ({ ...sampleInstance(now), ...same, ...owner(name) })),
      ['v1:a.b@1.0.0', 'v1:a.c@1.0.0'].map((operation) => ({ ...sampleInstance(now), ...same, operation })),
      [60_000, 61_000].map((span) => ({ ...sampleInstance(now), ...same, expiresAt: now + span })),
      [60_000, 61_000].map((span) => ({ ...sampleInstance(now), ...same, keepUntil: now + span })),
      [{ ...unhurried }, { ...sampleInstance(now), ...same }],
      [1, 2].map(() => ({ ...sampleInstance(now), ...begun })),
      [
        { ...sampleInstance(now), ...begun, ...owner('ada') },
        { ...sampleInstance(now), ...begun, ...owner('grace') },
      ],
    ]

    for (const batch of batches) expect(await acceptTogether(store, batch)).toEqual(batch)
  })

  test('are ended as they are, whichever of their values are the same', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock })
    const now = clock.now()
    const leased = () => ({ ...sampleInstance(now), state: 'pending' as const, attempt: 1, dueAt: now + LEASE_MS })
    const calls = Array.from({ length: 6 }, leased)
    await acceptTogether(store, calls)
    // This one has another revision than the others.
    const [reporting] = calls as [Instance]
    await store.progress({ id: reporting.id, attempt: 1 }, { fraction: 0.5 })
    const rules = ['first', 'first', 'second', 'first', 'first', 'second']
    const audit = (rule: string) =>
      ({ verdict: 'allow', rule, backend: 'handler', attempts: 1, outcome: 'complete' }) as const

    const ended = await Promise.all(
      calls.map((call, at) => store.advance({ ...ending(call, at), audit: audit(rules[at] ?? '') })),
    )

    const stored = await Promise.all(calls.map(({ id }) => store.get(id)))
    expect(ended.map(({ applied }) => applied)).toEqual(calls.map(() => true))
    expect(stored.map((call) => call?.outcome)).toEqual(calls.map((_, value) => ({ kind: 'result', value })))
    expect(stored.map((call) => call?.revision)).toEqual([3, 2, 2, 2, 2, 2])
    expect(ended.map((each) => each.applied && each.instance)).toEqual(stored)
    const trail = await store.audit.list({ tenant: 'main', limit: 10 })
    expect(calls.map((call) => trail.find(({ id }) => id === call.id)?.rule)).toEqual(rules)
  })

  test('are claimed by the node that has queued them as another node would read them', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock })
    const now = clock.now()
    const queued = () => ({ ...sampleInstance(now), dueAt: now })
    const [plain, stopped, large] = [queued(), queued(), { ...queued(), args: { text: 'x'.repeat(5_000) } }]
    await acceptTogether(store, [plain, stopped, large])
    await store.requestStop(stopped.id)

    const { instances } = await store.claim({ operations: [plain.operation], limit: 10, leaseMs: LEASE_MS })

    const read = await Promise.all([plain, stopped, large].map(({ id }) => store.get(id)))
    const claimed = [plain, stopped, large].map((call) => instances.find(({ id }) => id === call.id))
    expect(claimed).toEqual(read)
    expect(claimed.map((call) => call?.stopRequested)).toEqual([false, true, false])
    expect(claimed.map((call) => [call?.state, call?.attempt])).toEqual(claimed.map(() => ['pending', 1]))
    const ends = await Promise.all(instances.map((call) => store.advance(ending(call, 1))))
    expect(ends.every(({ applied }) => applied)).toBe(true)
  })
})
