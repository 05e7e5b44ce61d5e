/** The limits of one call: it may request tighter limits than its operation has, but never looser ones. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CallTerms } from '../../src/core/call/call.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import { deadlineOf, effectiveTerms } from '../../src/engine/attempt/call-terms.ts'
import { verifies } from '../requirements.ts'
import { ADA, type Cluster, Node, openCluster, settled } from './node.ts'

const limit = fc.integer({ min: 1, max: 100_000 })
const terms = fc.record(
  { timeoutMs: limit, attempts: fc.integer({ min: 1, max: 20 }), maxBackoffMs: limit, deadlineMs: limit },
  { requiredKeys: [] },
)
const rules = fc.record(
  {
    timeoutMs: limit,
    deadlineMs: limit,
    retry: fc.record(
      { attempts: fc.integer({ min: 1, max: 20 }), maxBackoffMs: limit },
      { requiredKeys: ['attempts'] },
    ),
  },
  { requiredKeys: ['retry'] },
)

test('for any requested limits, no limit is above the operation’s or the requested one', () => {
  fc.assert(
    fc.property(rules, terms, (declared, asked) => {
      const owner = declared as unknown as Operation
      const { timeoutMs, retry } = effectiveTerms(owner, asked as CallTerms)
      const deadlineMs = deadlineOf(owner, asked as CallTerms)

      const least = (...given: (number | undefined)[]) => {
        const known = given.filter((value) => value !== undefined)
        return known.length > 0 ? Math.min(...known) : undefined
      }
      expect([timeoutMs, retry.attempts, retry.maxBackoffMs, deadlineMs]).toEqual([
        least(declared.timeoutMs, asked.timeoutMs),
        least(declared.retry.attempts, asked.attempts),
        least(declared.retry.maxBackoffMs, asked.maxBackoffMs),
        least(declared.deadlineMs, asked.deadlineMs),
      ])
    }),
  )
})

const busy = () => {
  throw new Fault('upstream', 'The other side is busy.')
}

/** Fails each time; the times at which it was tried. */
function failing(cluster: Cluster, rules: OperationRules) {
  const triedAt: number[] = []
  const started = cluster.clock.now()
  const { chunked: _, ...more } = rules
  const work = operation('v1:work', {
    ...more,
    run() {
      triedAt.push(cluster.clock.now() - started)
      busy()
    },
  })
  return { triedAt, work }
}

/** Works until it is stopped; the times at which it was. */
function hanging(cluster: Cluster, rules: OperationRules) {
  const stoppedAt: number[] = []
  const started = cluster.clock.now()
  const { chunked: _, ...more } = rules
  const work = operation('v1:work', {
    ...more,
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          stoppedAt.push(cluster.clock.now() - started)
          reject(ctx.signal.reason)
        })
      }),
  })
  return { stoppedAt, work }
}

/** Lets time pass, a little at a time, until the call has ended. */
async function ended(cluster: Cluster, node: Node, terms?: CallTerms, stepMs = 50): Promise<Reply> {
  let reply: Reply | undefined
  const calling = node.call('v1:work', {}, terms ? { terms } : {}).then((first) => {
    reply = first
  })
  for (let passed = 0; passed < 20_000; passed += stepMs) {
    await settled()
    if (reply && reply.state !== 'complete' && reply.state !== 'error') reply = await node.followUp.poll(ADA, 'r1')
    if (reply?.state === 'complete' || reply?.state === 'error') break
    cluster.clock.advance(stepMs)
  }
  await calling
  return reply as Reply
}

const WAYS: [way: string, rules: OperationRules][] = [
  ['on the spot', { maxSyncMs: 60_000 }],
  ['on the spot, then in the background', { maxSyncMs: 150 }],
  ['recorded', { model: 'async' }],
]

test.each(WAYS)('%s: the call’s number of attempts counts where it is lower', async (_way, rules) => {
  verifies('contract:123')
  const cluster = openCluster()
  const { triedAt, work } = failing(cluster, { ...rules, retry: { attempts: 4, backoffMs: 100 } })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node, { attempts: 2 })

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'upstream' }, usage: { attempt: 2, durationMs: 100 } })
  expect(triedAt).toEqual([0, 100])
})

test.each(WAYS)('%s: a credential that has expired is worth one more try, and no further one', async (_way, rules) => {
  verifies('contract:100')
  const cluster = openCluster()
  let tries = 0
  const { chunked: _, ...more } = rules
  const work = operation('v1:work', {
    ...more,
    retry: { attempts: 9, backoffMs: 100 },
    run() {
      tries++
      throw new Fault('credential-expired', 'The token has expired.')
    },
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node)

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'credential-expired' } })
  expect(tries).toBe(2)
})

test.each(WAYS)('%s: a higher number of attempts, or a longer back-off, is not had', async (_way, rules) => {
  const cluster = openCluster()
  const retry = { attempts: 3, backoffMs: 100, maxBackoffMs: 100 }
  const { triedAt, work } = failing(cluster, { ...rules, retry })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node, { attempts: 9, maxBackoffMs: 5_000, deadlineMs: 60_000 })

  expect(reply).toMatchObject({ state: 'error', usage: { attempt: 3, durationMs: 200 } })
  expect(triedAt).toEqual([0, 100, 200])
})

test.each(WAYS)('%s: the deadline is of all attempts together, from the arrival of the call', async (_way, rules) => {
  const cluster = openCluster()
  const retry = { attempts: 10, backoffMs: 100, maxBackoffMs: 100 }
  const { triedAt, work } = failing(cluster, { ...rules, retry, deadlineMs: 1_000 })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node, { deadlineMs: 350 })

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'upstream' }, usage: { attempt: 4 } })
  expect(triedAt).toEqual([0, 100, 200, 300])
})

test.each(WAYS)('%s: an attempt is stopped when the deadline has come', async (_way, rules) => {
  const cluster = openCluster()
  const limits = { timeoutMs: 10_000, deadlineMs: 500, retry: { attempts: 3, backoffMs: 100 } }
  const { stoppedAt, work } = hanging(cluster, { ...rules, ...limits })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node)

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'timeout' }, usage: { attempt: 1, durationMs: 500 } })
  expect(stoppedAt).toEqual([500])
})

test.each(WAYS)('%s: a shorter time for one attempt counts, at each attempt', async (_way, rules) => {
  verifies('contract:063')
  const cluster = openCluster()
  const limits = { timeoutMs: 1_000, retry: { attempts: 2, backoffMs: 100 } }
  const { stoppedAt, work } = hanging(cluster, { ...rules, ...limits })
  const node = new Node(cluster, { operations: [work] })

  const reply = await ended(cluster, node, { timeoutMs: 200 })

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'timeout', details: { timeoutMs: 200 } } })
  expect(stoppedAt).toEqual([200, 500])
})

const JITTER: [jitter: 'none' | 'full' | 'equal', triedAt: number[]][] = [
  ['none', [0, 160, 480]],
  ['full', [0, 40, 120]],
  ['equal', [0, 100, 300]],
]

test.each(WAYS.flatMap(([way, rules]) => JITTER.map(([jitter, triedAt]) => ({ way, rules, jitter, triedAt }))))(
  '$way: with jitter $jitter the same chance makes the same waits',
  async ({ rules, jitter, triedAt: expected }) => {
    const cluster = openCluster()
    const { triedAt, work } = failing(cluster, { ...rules, retry: { attempts: 3, backoffMs: 160, jitter } })
    const node = new Node(cluster, { operations: [work], random: () => 0.25, limits: { pollBurst: 100 } })

    await ended(cluster, node, undefined, 20)

    expect(triedAt).toEqual(expected)
  },
)

test('waiting for an approval is no try, and takes nothing from the time of all tries', async () => {
  verifies('contract:105')
  const cluster = openCluster()
  let tries = 0
  const pay = operation('v1:work', {
    model: 'async',
    deadlineMs: 1_000,
    retry: { attempts: 2, backoffMs: 100 },
    run: () => (++tries === 1 ? busy() : 'paid'),
  })
  const guards = [{ decide: () => ({ verdict: 'hold' as const, rule: 'policy.yaml#money' }) }]
  const node = new Node(cluster, { operations: [pay], guards })
  const held = await node.call('v1:work', {}, {}, { hold: true })
  const { id } = await cluster.find('r1')
  cluster.clock.advance(60_000)
  await settled()

  await node.engine.approvals.decisions.decide({ ...ADA, subject: 'bob' }, id, 'approve')
  await cluster.store.advance({ id, from: ['accepted', 'pending'], to: 'pending', dueAt: cluster.clock.now() })
  node.engine.worker.wake()
  await cluster.until(id, ({ failures }) => failures === 1)
  cluster.clock.advance(100)
  const ended = await cluster.ended(id)

  expect(held).toMatchObject({ state: 'accepted' })
  expect(ended).toMatchObject({ state: 'complete', failures: 1, outcome: { value: 'paid' } })
  expect(tries).toBe(2)
})
