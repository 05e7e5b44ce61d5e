/**
 * Which calls join under an idempotency key, and when the key is released: only if no effect can have happened under
 * it.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Node, openCluster, settled } from './node.ts'

const KEYED = { idempotencyKey: 'k1' }

function paying(run: () => unknown, schema: z.ZodType = z.object({})) {
  return operation('v1:pay', { model: 'async', args: schema, ttlSeconds: 60, run })
}

test('a handler that began and failed keeps the key: a repeat gets the failure', async () => {
  const cluster = openCluster()
  let runs = 0
  const pay = paying(() => {
    runs++
    throw new Error('the line went dead')
  })
  const node = new Node(cluster, { operations: [pay] })
  await node.call('v1:pay', {}, KEYED)
  await cluster.ended((await cluster.find('r1')).id)

  const repeat = await node.call('v1:pay', {}, KEYED)

  expect(repeat).toMatchObject({ state: 'error', requestId: 'r2' })
  expect(runs).toBe(1)
})

test('a repeat that names the version joins a call that named it, and no call that did not', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [paying(() => 'paid')] })
  await node.call('v1:pay@1.0.0', {}, { requestId: 'versioned', idempotencyKey: 'k1' })
  await node.call('v1:pay', {}, { requestId: 'plain', idempotencyKey: 'k2' })
  for (const requestId of ['versioned', 'plain']) await cluster.ended((await cluster.find(requestId)).id)

  const repeats = await Promise.all([
    node.call('v1:pay@1.0.0', {}, { requestId: 'r3', idempotencyKey: 'k1' }),
    node.call('v1:pay', {}, { requestId: 'r4', idempotencyKey: 'k2' }),
  ])

  expect(repeats).toMatchObject([{ result: 'paid' }, { result: 'paid' }])
  const reused = { code: 'IDEMPOTENCY_KEY_REUSED' }
  await expect(node.call('v1:pay', {}, { requestId: 'r5', idempotencyKey: 'k1' })).rejects.toMatchObject(reused)
  await expect(node.call('v1:pay@1.0.0', {}, { requestId: 'r6', idempotencyKey: 'k2' })).rejects.toMatchObject(reused)
})

test('a call that waited and whose arguments are refused when it is its turn gives the key back', async () => {
  const cluster = openCluster()
  const stopped = new Node(cluster, { operations: [paying(() => 'paid')], limits: { runningCalls: 0 } })
  await stopped.call('v1:pay', {}, KEYED)
  const { id } = await cluster.find('r1')
  stopped.kill()
  const stricter = new Node(cluster, { operations: [paying(() => 'paid', z.object({ amount: z.number() }))] })

  stricter.engine.worker.wake()
  const ended = await cluster.ended(id)

  expect(ended).toMatchObject({ state: 'error', outcome: { fault: { kind: 'invalid-input' } } })
  expect(ended.idempotencyKey).toBe(undefined)
  const again = await stricter.call('v1:pay', { amount: 5 }, { ...KEYED, requestId: 'again' })
  expect(again).toMatchObject({ requestId: 'again', state: 'accepted' })
})

test('a call that was run before and is refused or ended between two tries keeps the key', async () => {
  const cluster = openCluster()
  let open = true
  const schema = z.object({}).refine(() => open)
  const pay = operation('v1:pay', {
    model: 'async',
    args: schema,
    retry: { attempts: 3, backoffMs: 1_000 },
    run: (_args, ctx) => ctx.fail('LATER', 'Later.', { retryable: true }),
  })
  const node = new Node(cluster, { operations: [pay] })
  await node.call('v1:pay', {}, KEYED)
  await node.call('v1:pay', {}, { idempotencyKey: 'k2' })
  const [refused, canceled] = [await cluster.find('r1'), await cluster.find('r2')]
  await settled()

  await node.followUp.cancel(ADA, 'r2')
  open = false
  cluster.clock.advance(1_000)

  expect(await cluster.ended(refused.id)).toMatchObject({
    idempotencyKey: 'k1',
    outcome: { fault: { kind: 'invalid-input' } },
  })
  expect(await cluster.ended(canceled.id)).toMatchObject({
    idempotencyKey: 'k2',
    outcome: { fault: { kind: 'canceled' } },
  })
})

test('a call that was handed to a worker that died keeps the key when it expires', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [paying(() => new Promise(() => {}))] })
  await node.call('v1:pay', {}, KEYED)
  const { id, expiresAt } = await cluster.find('r1')
  node.kill()
  const other = new Node(cluster, { operations: [operation('v1:other', { run: () => {} })] })

  cluster.clock.advance(expiresAt - cluster.clock.now())
  await other.maintenance.tidy()

  expect(await cluster.store.get(id)).toMatchObject({ state: 'error', idempotencyKey: 'k1' })
})
