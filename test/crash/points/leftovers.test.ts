/**
 * State that an earlier version left when it was killed between two writes: the server repairs it, and no caller waits
 * for it.
 */
import { expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import type { Fault } from '../../../src/core/fault.ts'
import { operation } from '../../../src/core/operation/define.ts'
import type { Guard } from '../../../src/core/ports/guard.ts'
import type { Approval } from '../../../src/engine/wait/approvals.ts'
import { ADA, Node, openCluster, settled } from '../../engine/node.ts'
import { Death, mortalStore } from './death.ts'

const HOLD: Guard = { decide: () => ({ verdict: 'hold' }) }
const BOB = { ...ADA, subject: 'bob' }
const SURE = { kind: 'form' as const, message: 'Sure?', schema: { type: 'object', required: ['sure'] } }

function open(cluster = openCluster()) {
  const pay = operation('v1:pay', { model: 'async', run: () => 'paid' })
  const asks = operation('v1:asks', { model: 'async', run: (_, ctx) => ctx.ask({ sure: SURE }) })
  return { cluster, node: new Node(cluster, { operations: [pay, asks], guards: [HOLD] }) }
}

const pendingOf = async (node: Node) => (await node.engine.approvals.pending(ADA.tenant, 10)).approvals

test('a key that stands for an approval which was never written makes way for a new one', async () => {
  const { cluster, node } = open()
  await node.call('v1:pay', {}).catch(() => {})
  const [lost] = await pendingOf(node)
  const { id, binding } = lost as Approval
  await cluster.store.records.remove(`approval/main/${id}`)
  const death = new Death()
  cluster.store = mortalStore(cluster.store, death)
  const next = new Node(cluster, {
    operations: [operation('v1:pay', { model: 'async', run: () => 'paid' })],
    guards: [HOLD],
  })

  const refused = await next.call('v1:pay', {}).catch((thrown: Fault) => thrown.kind)
  const [opened] = await pendingOf(next)
  const standing = await cluster.store.records.get(`approval-for/main/${binding}`)

  expect(refused).toBe('approval-pending')
  expect(standing).toBe(opened?.id)
  expect(standing).not.toBe(id)
  expect(death.writes.length).toBeLessThan(5)
})

test('a call whose approval was never written ends when the next server starts', async () => {
  const { cluster, node } = open()
  await node.call('v1:pay', {}, { requestId: 'held' }, { hold: true })
  const { id } = await cluster.find('held')
  await cluster.store.records.remove(`approval/main/${id}`)
  node.kill()

  const next = open(cluster).node
  await next.engine.approvals.decisions.repair()
  next.engine.worker.wake()

  const { outcome } = await cluster.ended(id)
  expect(outcome).toMatchObject({ fault: { kind: 'approval-expired', message: expect.stringContaining('was lost') } })
  expect(await cluster.store.records.list('approval-', 10)).toEqual([])
})

test('a decision that its call has not heard of is heard when the next server starts', async () => {
  const { cluster, node } = open()
  await node.call('v1:pay', {}, { requestId: 'held' }, { hold: true })
  const [approval] = await pendingOf(node)
  const { id } = approval as Approval
  const decision = { by: 'test|bob', at: cluster.clock.now() }
  await cluster.store.records.put(`approval/main/${id}`, JSON.stringify({ ...approval, status: 'approved', decision }))
  node.kill()

  const next = open(cluster).node
  await next.engine.approvals.decisions.repair()
  next.engine.worker.wake()

  expect((await cluster.ended(id)).outcome).toMatchObject({ kind: 'result', value: 'paid' })
  expect(await cluster.store.records.list('approval-', 10)).toEqual([])
})

test('whenever a server ends, an approval is given back by the end of the call that only asked', async () => {
  for (let after = 1, died = true; died; after++) {
    const { cluster, node } = open()
    await node.call('v1:asks', {}).catch(() => {})
    const [approval] = await pendingOf(node)
    const { id } = approval as Approval
    await node.engine.approvals.decisions.decide(BOB, id, 'approve')
    node.kill()
    const death = new Death(after)
    const { store } = cluster
    cluster.store = mortalStore(store, death)
    const dying = open(cluster).node
    const asking = { kinds: ['form' as const], answers: {} }
    const calling = dying.call('v1:asks', {}, { requestId: 'r', idempotencyKey: 'k', asking }, { holdMs: 1_000 })
    await Promise.race([calling.then(settled), death.happened])
    died = death.isDead
    dying.kill()

    cluster.store = store
    await cluster.restart()
    const next = open(cluster).node
    next.engine.worker.wake()
    await settled()
    const found = await cluster.store.find(ADA.tenant, 'test|ada', 'r')
    const now = await next.engine.approvals.get(ADA.tenant, id)

    expect([after, found === undefined || isAsking(found), now?.status]).toEqual([after, true, 'approved'])
    expect(await cluster.store.records.get(`approval-for/main/${now?.binding}`)).toBe(id)
  }
})

function isAsking({ outcome }: Instance): boolean {
  return outcome?.kind === 'fault' && outcome.fault.code === 'INPUT_REQUIRED'
}
