/** One caller has more calls than there are slots: other callers are not slowed down. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import { FairTurns } from '../../src/core/fairness/fair-turns.ts'
import { SlotShares } from '../../src/core/fairness/slot-shares.ts'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Gate, Node, openCluster, settled } from './node.ts'

const callerOf = (subject: string, tenant = 'main'): Caller => ({ ...ADA, subject, tenant })
const BOB = callerOf('bob')
const EVE = callerOf('eve', 'other')

/** Calls that wait until the gate opens, and calls that end at once; `started` has them in their order. */
function createWork() {
  const gate = new Gate()
  const started: string[] = []
  const note = (caller: Caller) => started.push(`${caller.tenant}/${caller.subject}`)
  const waits = (name: string, model: 'sync' | 'async') =>
    operation(name, {
      model,
      run(_args, ctx) {
        note(ctx.caller)
        return gate.pass()
      },
    })
  const quick = (name: string, model: 'sync' | 'async') =>
    operation(name, { model, run: (_args, ctx) => note(ctx.caller) })
  const operations = [
    waits('v1:long', 'sync'),
    waits('v1:job', 'async'),
    quick('v1:ask', 'sync'),
    quick('v1:note', 'async'),
  ]
  return { gate, started, operations }
}

const callAs = (node: Node, caller: Caller, name: string) => node.call(name, {}, {}, {}, caller)

test('the long calls of one caller leave slots for callers of its tenant and of others', async () => {
  const cluster = openCluster()
  const { gate, started, operations } = createWork()
  const node = new Node(cluster, { operations })
  const flood = Array.from({ length: 272 }, () => callAs(node, ADA, 'v1:long'))
  void Promise.allSettled(flood)
  await settled()
  expect(node.limits.running).toBe(224)

  for (const caller of [BOB, EVE, BOB])
    expect(await callAs(node, caller, 'v1:ask')).toMatchObject({ state: 'complete' })

  expect(started.slice(224)).toEqual(['main/bob', 'other/eve', 'main/bob'])
  gate.open(null)
  // A limited number of calls wait for a slot. The others are refused.
  const ended = await Promise.allSettled(flood)
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(224 + 32)
})

test('many callers of one tenant leave slots for other tenants', async () => {
  const cluster = openCluster()
  const { started, operations } = createWork()
  const node = new Node(cluster, { operations, limits: { slotWaitMs: 0 } })
  const flood = Array.from({ length: 300 }, (_, n) => callAs(node, callerOf(`caller-${n}`), 'v1:long'))
  void Promise.allSettled(flood)
  await settled()
  expect(node.limits.running).toBe(248)

  expect(await callAs(node, EVE, 'v1:ask')).toMatchObject({ state: 'complete' })
  expect(started.at(-1)).toBe('other/eve')
})

test('a call of a caller with nothing queued starts at once, however long the queue of another is', async () => {
  const cluster = openCluster()
  const { started, operations } = createWork()
  const node = new Node(cluster, { operations })
  await Promise.all(Array.from({ length: 1_000 }, () => callAs(node, ADA, 'v1:job')))
  expect(node.limits.queued).toBe(776)

  await callAs(node, BOB, 'v1:note')

  expect(node.limits.queued).toBe(776)
  expect(started.at(-1)).toBe('main/bob')
})

test('queued calls alternate between tenants, and within a tenant between callers', async () => {
  const cluster = openCluster()
  const { gate, started, operations } = createWork()
  const node = new Node(cluster, { operations, limits: { runningCalls: 1 } })
  await callAs(node, ADA, 'v1:job')
  for (const caller of [ADA, ADA, ADA, ADA, BOB, BOB, EVE, EVE]) await callAs(node, caller, 'v1:note')
  await settled()

  gate.open(null)
  await expect.poll(() => started.length).toBe(9)

  expect(started.slice(1)).toEqual([
    'main/ada',
    'other/eve',
    'main/bob',
    'other/eve',
    'main/ada',
    'main/bob',
    'main/ada',
    'main/ada',
  ])
})

test('turns continue from node to node, and weights apply', async () => {
  const cluster = openCluster()
  const { gate, started, operations } = createWork()
  const weights = { callers: { 'test|bob': 2 } }
  const busy = new Node(cluster, { operations, limits: { runningCalls: 1, weights } })
  await callAs(busy, ADA, 'v1:job')
  for (const caller of [ADA, ADA, ADA, ADA, BOB, BOB]) await callAs(busy, caller, 'v1:note')
  await settled()

  const other = new Node(cluster, { operations, limits: { runningCalls: 1, weights } })
  other.engine.worker.wake()
  await expect.poll(() => started.length).toBe(7)
  gate.open(null)

  expect(started.slice(1)).toEqual(['main/ada', 'main/bob', 'main/bob', 'main/ada', 'main/ada', 'main/ada'])
})

test('a sync call without a slot waits for one, and is refused when that takes too long', async () => {
  const cluster = openCluster()
  const { gate, operations } = createWork()
  const node = new Node(cluster, { operations, limits: { runningCalls: 1 } })
  const long = callAs(node, ADA, 'v1:long')
  const late = callAs(node, BOB, 'v1:ask')

  cluster.clock.advance(1_000)
  await expect(late).rejects.toMatchObject({ code: 'BUSY', retryAfterMs: 1_000 })
  const waits = callAs(node, BOB, 'v1:ask')
  await settled()
  gate.open(1)

  expect(await long).toMatchObject({ state: 'complete' })
  expect(await waits).toMatchObject({ state: 'complete' })
  expect(node.limits.running).toBe(0)
})

test('waiting callers alternate for slots, and no caller or tenant fills the whole queue', async () => {
  const cluster = openCluster()
  const { gate, started, operations } = createWork()
  const node = new Node(cluster, { operations, limits: { runningCalls: 1, waitingCalls: 16 } })
  const long = callAs(node, ADA, 'v1:long')
  const codes: string[] = []
  const waiting = [ADA, ADA, ADA, BOB, BOB, EVE].map((caller) =>
    callAs(node, caller, 'v1:ask').catch(({ code }) => codes.push(`${caller.subject} ${code}`)),
  )
  await settled()
  expect(codes).toEqual(['ada BUSY'])

  gate.open(null)
  await Promise.all([long, ...waiting])

  expect(started.slice(1)).toEqual(['main/ada', 'other/eve', 'main/bob', 'main/ada', 'main/bob'])
})

test('where calls wait in the queue and others for a slot, slots go to both', async () => {
  const cluster = openCluster()
  const { gate, started, operations } = createWork()
  const node = new Node(cluster, { operations, limits: { runningCalls: 1 } })
  const long = callAs(node, ADA, 'v1:long')
  for (let n = 0; n < 3; n++) await callAs(node, ADA, 'v1:note')
  const asking = Array.from({ length: 6 }, () => callAs(node, BOB, 'v1:ask'))
  await settled()

  gate.open(null)
  await Promise.all([long, ...asking])
  await expect.poll(() => started.length).toBe(10)

  expect(started.slice(1, 6).filter((each) => each === 'main/ada').length).toBeGreaterThan(0)
})

const WHO = fc.record({ tenant: fc.constantFrom('t1', 't2'), owner: fc.constantFrom('a', 'b', 'c') })

test('however slots are taken and given back, a caller that has none finds one unless all are taken by those like it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), WHO), { maxLength: 400 }), (steps) => {
      const shares = new SlotShares(64)
      const held: { tenant: string; owner: string }[] = []
      const of = (tenant: string, owner?: string) =>
        held.filter((each) => each.tenant === tenant && (owner === undefined || each.owner === owner)).length
      for (const [takes, who] of steps) {
        if (takes && shares.admits(who)) {
          shares.take(who)
          held.push(who)
          // The most slots that one caller, or one tenant, can take.
          expect(of(who.tenant, who.owner)).toBeLessThanOrEqual(56)
          expect(of(who.tenant)).toBeLessThanOrEqual(62)
        } else if (!takes && held.length > 0) shares.give(held.shift() as { tenant: string; owner: string })
        expect(shares.running).toBe(held.length)
        expect(SlotShares.from(shares.snapshot() as never).admits(who)).toBe(shares.admits(who))
        const free = 64 - held.length
        if (free > 2) expect(shares.admits({ tenant: 'new', owner: 'new' })).toBe(true)
      }
    }),
  )
})

test('callers that always have work get turns by weight, while other callers come and go', () => {
  const weight = fc.integer({ min: 1, max: 4 })
  fc.assert(
    fc.property(weight, weight, fc.array(fc.boolean(), { maxLength: 200 }), (ada, bob, visits) => {
      const turns = new FairTurns<string>()
      const weights = { callers: { ada, bob } }
      const served = { ada: 0, bob: 0, guest: 0 }
      for (const name of ['ada', 'bob']) turns.add({ tenant: 't', owner: name }, name)
      for (const guest of visits) {
        if (guest) turns.add({ tenant: 't', owner: 'guest' }, 'guest')
        let left = 1
        turns.give((name) => {
          if (left === 0) return 'enough'
          if (name === 'guest' && served.guest % 3 === 2) return served.guest++ > 0 ? 'idle' : 'blocked'
          served[name as keyof typeof served]++
          left--
          return 'used'
        }, weights)
      }
      const rounds = (name: 'ada' | 'bob', by: number) => served[name] / by
      expect(Math.abs(rounds('ada', ada) - rounds('bob', bob))).toBeLessThanOrEqual(1)
    }),
  )
})
