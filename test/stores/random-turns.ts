/** Random sequences of actions against a store and the in-memory model, and their comparison. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { mayFollow, STATES, statesBefore } from '../../src/core/call/state.ts'
import type { Change, Store } from '../../src/core/ports/store.ts'
import type { ManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleId, sampleInstance } from '../../src/testing/fakes/instances.ts'
import type { StoreModel } from './store-model.ts'

const OPERATIONS = ['v1:a@1.0.0', 'v1:b@1.0.0']
const LEASE_MS = 10

export interface World {
  /** Nodes on one store. Each turn is played by one of them. */
  nodes: readonly Store[]
  model: StoreModel
  clock: ManualClock
}

type Stage = Omit<World, 'nodes'> & { store: Store }

/** Says what the model answers, then what the store does. */
type Step = (stage: Stage) => { expected: unknown; actual: () => Promise<unknown> }

const IDS = [1, 2, 3, 4, 5].map(sampleId)
const ids = fc.constantFrom(...IDS)
const owners = fc.constantFrom('none|ada', 'none|bob')
const requestIds = fc.constantFrom('r1', 'r2', 'r3', 'r4')
const attempts = fc.integer({ min: 0, max: 2 })

const accept = fc
  .record({
    id: ids,
    owner: owners,
    requestId: requestIds,
    operation: fc.constantFrom(...OPERATIONS),
    due: fc.boolean(),
  })
  .chain((fixed) => fc.option(fc.constantFrom('k1', 'k2')).map((key) => ({ ...fixed, key })))
  .chain((fixed) => fc.option(ids, { nil: undefined }).map((over) => ({ ...fixed, over })))
  .map(
    ({ due, key, over, ...fixed }): Step =>
      ({ model, store, clock }) => {
        const now = clock.now()
        const instance = sampleInstance(now, {
          ...fixed,
          expiresAt: now + 20,
          keepUntil: now + 40,
          ...(key && { idempotencyKey: key }),
          ...(due && { dueAt: now }),
        })
        if (model.get(instance.id)) return { expected: undefined, actual: async () => undefined }
        return {
          expected: model.accept(instance, over),
          actual: () => store.accept(instance, over === undefined ? undefined : { over }),
        }
      },
  )

const alias = fc.record({ instanceId: ids, requestId: requestIds }).map(
  ({ instanceId, requestId }): Step =>
    ({ model, store, clock }) => {
      const target = model.get(instanceId)
      if (!target) return { expected: undefined, actual: async () => undefined }
      const { tenant, owner } = target
      const alias = { tenant, owner, requestId, instanceId, expiresAt: clock.now() + 15 }
      return { expected: model.alias(alias), actual: () => store.alias(alias) }
    },
)

const advance = fc
  .record({
    id: ids,
    to: fc.constantFrom(...STATES),
    attempt: fc.option(attempts),
    backOff: fc.boolean(),
    releaseKey: fc.boolean(),
    waiting: fc.constantFrom(undefined, 'w1', 'w2', null),
  })
  .map(
    ({ id, to, attempt, backOff, releaseKey, waiting }): Step =>
      ({ model, store, clock }) => {
        const again = mayFollow(to, to) && backOff
        const change: Change = {
          id,
          to,
          from: statesBefore(to),
          releaseKey,
          ...(attempt !== null && { attempt }),
          ...(again ? { dueAt: clock.now() + 5, failures: 1 } : { outcome: { kind: 'result', value: to } }),
          ...(again && attempt !== null && { settled: attempt }),
          ...(again && waiting !== undefined && { waiting }),
        }
        return { expected: model.advance(change), actual: () => store.advance(change) }
      },
  )

const lease = fc.record({ id: ids, attempt: attempts, what: fc.constantFrom('extend', 'progress', 'stop') }).map(
  ({ id, attempt, what }): Step =>
    ({ model, store }) => {
      if (what === 'extend') {
        const actual = () => store.extend([{ id, attempt }], LEASE_MS)
        return { expected: [model.extend({ id, attempt }, LEASE_MS)], actual }
      }
      if (what === 'stop') return { expected: model.requestStop(id), actual: () => store.requestStop(id) }
      const actual = () => store.progress({ id, attempt }, { fraction: attempt / 2 })
      return { expected: model.progress({ id, attempt }, attempt / 2), actual }
    },
)

const answer = fc.record({ id: ids, answer: fc.constantFrom('a1', 'a2') }).map(
  ({ id, answer }): Step =>
    ({ model, store }) => ({ expected: model.answer(id, answer), actual: () => store.answer(id, answer) }),
)

/** Takes all that is due, so that ties in the due time do not matter. */
const claim = fc.subarray(OPERATIONS).map(
  (operations): Step =>
    ({ model, store }) => {
      const wanted = { operations, limit: 100, leaseMs: LEASE_MS }
      const inOrder = (instances: readonly Instance[]) => [...instances].sort((a, b) => a.id.localeCompare(b.id))
      const expected = model.claim(wanted)
      return {
        expected: { ...expected, instances: inOrder(expected.instances) },
        actual: async () => {
          const claimed = await store.claim(wanted)
          return { ...claimed, instances: inOrder(claimed.instances) }
        },
      }
    },
)

export type Turn = { by: number } & (
  | { kind: 'together'; steps: Step[] }
  | { kind: 'wait'; ms: number }
  | { kind: 'expire' }
)

/** Up to `together` actions at the same time. A store that writes over several connections may order them differently. */
export function turnsOf(together: number) {
  const steps = fc.array(fc.oneof(accept, alias, advance, answer, lease, claim), { minLength: 1, maxLength: together })
  const by = fc.nat({ max: 1 })
  return fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('together' as const), by, steps }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('wait' as const), by, ms: fc.integer({ min: 1, max: 15 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), by }) },
    ),
    { minLength: 5, maxLength: 25 },
  )
}

async function play({ nodes, model, clock }: World, turn: Turn): Promise<void> {
  const store = nodes[turn.by % nodes.length] as Store
  if (turn.kind === 'wait') return clock.advance(turn.ms)
  if (turn.kind === 'expire') {
    const expected = model.expiring()
    const removed = await store.expire(100, async (ids) => expect([...ids].sort()).toEqual(expected))
    expect(removed).toBe(expected.length)
    return model.remove(expected)
  }
  const played = turn.steps.map((step) => {
    const { expected, actual } = step({ store, model, clock })
    return { expected: structuredClone(expected), answer: actual() }
  })
  for (const { expected, answer } of played) expect(await answer).toEqual(expected)
}

/** Holds after every step: states move forward and revisions increase. */
function checkHistory(before: Instance | undefined, after: Instance | undefined): void {
  if (!before || !after || before.createdAt !== after.createdAt) return
  expect(after.revision).toBeGreaterThanOrEqual(before.revision)
  if (after.state === before.state) return
  expect(after.revision).toBeGreaterThan(before.revision)
  // One turn may move it more than once, so that some state may lie between.
  const reachable = STATES.some((between) => mayFollow(before.state, between) && mayFollow(between, after.state))
  expect(reachable || mayFollow(before.state, after.state)).toBe(true)
}

/** Plays all turns. After each, every node must know what the model knows, and states have only moved forward. */
export async function playAll(world: World, turns: readonly Turn[]): Promise<void> {
  const { nodes, model } = world
  const history = new Map<string, Instance | undefined>()
  for (const turn of turns) {
    await play(world, turn)
    const reader = nodes[(turn.by + 1) % nodes.length] as Store
    for (const id of IDS) {
      const stored = await reader.get(id)
      expect(stored).toEqual(model.get(id))
      checkHistory(history.get(id), stored)
      history.set(id, stored)
    }
    const { queued, byOwner, byOperation } = await reader.openCounts()
    expect({ queued, byOwner: [...byOwner].sort(), byOperation }).toEqual(model.openCounts())
    for (const requestId of ['r1', 'r2', 'r3', 'r4']) {
      const found = await reader.find('main', 'none|ada', requestId)
      expect(found).toEqual(model.find('none|ada', requestId))
    }
  }
}
