/** Calls that are not written down leave nothing behind when they fail: no slot, no bytes. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../src/core/operation.ts'
import { Gate, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

test('a call whose arguments are refused at the second try gives its slot back', async () => {
  const cluster = openCluster()
  const onSale = new Set(['tea'])
  const buy = operation('v1:buy', {
    args: z.object({ item: z.string().refine((item) => onSale.has(item)) }),
    concurrency: 1,
    retry: { attempts: 2, backoffMs: 100 },
    run: (_args, ctx) => ctx.fail('LATER', 'Later.', { retryable: true }),
  })
  const node = new Node(cluster, { operations: [buy] })

  const refused = expect(node.call('v1:buy', { item: 'tea' })).rejects.toMatchObject({ kind: 'invalid-input' })
  await settled()
  expect(node.limits.running).toBe(1)
  onSale.clear()
  cluster.clock.advance(100)
  await refused

  expect([node.limits.running, node.limits.hasSlot(node.engine.registry.resolve('v1:buy', 0))]).toEqual([0, true])
})

test('a call that outlasts its wait and cannot be written down holds its slot until its handler is done, no longer', async () => {
  const cluster = openCluster()
  const deaf = new Gate()
  const work = operation('v1:work', { concurrency: 1, maxSyncMs: 10, run: () => deaf.pass() })
  const node = new Node(cluster, { operations: [work] })
  cluster.store.accept = async () => {
    throw new Error('the disk is full')
  }

  const refused = expect(node.call('v1:work')).rejects.toThrow('the disk is full')
  await deaf.reached
  cluster.clock.advance(10)
  await refused
  const meanwhile = node.limits.running
  cluster.clock.advance(STOP_GRACE_MS)
  await settled()

  expect([meanwhile, node.limits.running]).toEqual([1, 0])
})

test('a call that stores bytes and then fails leaves none of them', async () => {
  const cluster = openCluster()
  const draw = operation('v1:draw', {
    async run(_args, ctx) {
      await ctx.object('<svg/>', { mimeType: 'image/svg+xml' })
      ctx.fail('NO_INK', 'There is no ink.')
    },
  })
  const node = new Node(cluster, { operations: [draw] })

  const reply = await node.call('v1:draw')
  cluster.clock.advance(1)

  expect(reply).toMatchObject({ state: 'error', fault: { code: 'NO_INK' } })
  expect(await Array.fromAsync(cluster.objects.owners(cluster.clock.now()))).toEqual([])
})
