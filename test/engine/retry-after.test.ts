/** A failure may set a time to retry. No value makes a call run too often or wait forever. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import { retryDelay } from '../../src/engine/run/retry.ts'
import { Node, openCluster, settled } from './node.ts'

const HOUR_MS = 3_600_000

test('for any requested delay, the delay is a whole number of milliseconds of at most one hour', () => {
  fc.assert(
    fc.property(fc.double(), (retryAfterMs) => {
      const fault = { kind: 'upstream' as const, code: 'UPSTREAM', message: 'Later.', retryable: true, retryAfterMs }

      const delay = retryDelay({ attempts: 3 }, 1, fault, () => 0) as number

      expect(Number.isSafeInteger(delay) && delay >= 200 && delay <= HOUR_MS).toBe(true)
    }),
  )
})

test.each([
  [250.5, 251],
  [-1, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [1e300, Number.MAX_SAFE_INTEGER],
])('a fault that is made with %d ms says %d', (retryAfterMs, kept) => {
  expect(new Fault('upstream', 'Later.', { retryAfterMs }).toRecord().retryAfterMs).toBe(kept)
})

test('a fraction of a millisecond does not make a call run more often than it may', async () => {
  const cluster = openCluster()
  let runs = 0
  const busy = operation('v1:work', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    run: (_args, context) => {
      runs++
      context.fail('BUSY', 'Later.', { retryable: true, retryAfterMs: 250.5 })
    },
  })
  const node = new Node(cluster, { operations: [busy] })
  await node.call('v1:work')
  const { id } = await cluster.find('r1')
  await cluster.until(id, ({ failures }) => failures === 1)

  cluster.clock.advance(251)

  expect(await cluster.ended(id)).toMatchObject({ outcome: { fault: { code: 'BUSY' } } })
  expect(runs).toBe(2)
})

test.each([
  ['a recorded call', { model: 'async' as const, ttlSeconds: 600 }],
  ['a call that ran unrecorded', { model: 'sync' as const }],
])('%s ends with its failure if the next try would be after its expiry', async (_, rules) => {
  const cluster = openCluster()
  const busy = operation('v1:work', {
    ...rules,
    retry: { attempts: 2, backoffMs: 1, maxBackoffMs: 10 },
    run: (_args, context) => context.fail('BUSY', 'Tomorrow.', { retryable: true, retryAfterMs: 86_400_000 }),
  })
  const node = new Node(cluster, { operations: [busy] })

  const reply = await node.call('v1:work')
  await settled()

  const after = rules.model === 'sync' ? reply : await node.followUp.poll((await cluster.find('r1')).caller, 'r1')
  expect(after).toMatchObject({ state: 'error', fault: { code: 'BUSY', retryAfterMs: 86_400_000 } })
})
