/**
 * A held call and its approval do not outlive their time, their policy or their call, and are neither lost nor used
 * twice.
 */
import { expect, test } from 'vitest'
import type { Call, MediaInput } from '../../src/core/call/call.ts'
import type { Instance } from '../../src/core/call/instance.ts'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import { jsonSchema } from '../../src/core/operation/schema.ts'
import type { Decision, Guard } from '../../src/core/ports/guard.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Approval } from '../../src/engine/wait/approvals.ts'
import { ADA, type Cluster, Gate, LEASE_MS, Node, type NodeOptions, openCluster, settled } from './node.ts'

const BOB = { ...ADA, subject: 'bob' }
const HOLD: Decision = { verdict: 'hold', rule: 'policy.yaml#money' }
const TEN_MINUTES = 600_000

interface Office {
  cluster: Cluster
  node: Node
  runs: unknown[]
  /** The decision of the guard from now on. */
  says: { decision: Decision }
}

function open(options: Partial<NodeOptions> = {}, cluster = openCluster(), more: object = {}): Office {
  const runs: unknown[] = []
  const says = { decision: HOLD }
  const guard: Guard = { decide: (_caller, { name }) => (name.full === 'v1:pay' ? says.decision : undefined) }
  const pay = operation('v1:pay', { model: 'async', ...more, run: (args) => void runs.push(args) })
  return { cluster, runs, says, node: new Node(cluster, { operations: [pay], guards: [guard], ...options }) }
}

async function pending({ node }: Office): Promise<readonly Approval[]> {
  await settled()
  return (await node.engine.approvals.pending(ADA.tenant, 200)).approvals
}

/** Held, and the only one that waits. */
async function hold(office: Office, call: Partial<Call> = {}): Promise<{ approval: Approval; id: string }> {
  await office.node.call('v1:pay', { amount: 1 }, call, { hold: true })
  const [approval] = await pending(office)
  return { approval: approval as Approval, id: (approval as Approval).instanceId as string }
}

async function makeDue({ cluster, node }: Office, id: string): Promise<void> {
  const { state, attempt } = (await cluster.store.get(id)) as Instance
  await cluster.store.advance({ id, from: [state], to: state, attempt, dueAt: cluster.clock.now() })
  node.engine.worker.wake()
  await settled()
}

function faultOf(instance: Instance | undefined): unknown {
  return instance?.outcome?.kind === 'fault' ? instance.outcome.fault : undefined
}

test('an approval that was given and not used in its time lets nothing run', async () => {
  const office = open()
  const { approval, id } = await hold(office)
  await office.node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')
  office.node.kill()

  office.cluster.clock.advance(TEN_MINUTES)
  await office.cluster.restart()
  const next = open({}, office.cluster)
  await makeDue(next, id)

  expect(faultOf(await next.cluster.ended(id))).toMatchObject({ kind: 'approval-expired' })
  expect(next.runs).toEqual([])
})

test('a call that is approved after the policy has come to deny it ends with the denial', async () => {
  const office = open()
  const { approval, id } = await hold(office)

  office.says.decision = { verdict: 'deny', rule: 'policy.yaml#never' }
  await office.node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')
  await makeDue(office, id)

  expect(faultOf(await office.cluster.ended(id))).toMatchObject({ kind: 'forbidden', code: 'POLICY_DENIED' })
  expect(office.runs).toEqual([])
})

test('an approval for one version does not apply to another', async () => {
  const office = open()
  const { approval, id } = await hold(office)
  await office.node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')
  office.node.kill()

  const next = open({}, office.cluster, { version: '1.1.0' })
  await next.node.maintenance.start()
  await makeDue(next, id)

  expect(faultOf(await next.cluster.ended(id))).toMatchObject({ kind: 'approval-expired' })
  expect(next.runs).toEqual([])
  await next.node.maintenance.stop()
})

test('a call that ends while its deadline is being written is not run', async () => {
  const cluster = openCluster()
  const { store } = cluster
  let ends: (() => Promise<unknown>) | undefined
  cluster.store = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== 'advance') return typeof target[name] === 'function' ? target[name].bind(target) : target[name]
      return async (change: Parameters<Store['advance']>[0]) => {
        if (change.to === 'pending' && change.extras?.deadlineAt !== undefined) await ends?.()
        return target.advance(change)
      }
    },
  })
  const office = open({}, cluster, { deadlineMs: 60_000 })
  const { approval, id } = await hold(office)
  await office.node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')

  ends = async () => {
    ends = undefined
    await office.node.engine.worker.endUnrun((await store.get(id)) as Instance, new Fault('timeout', 'Over.'))
  }
  await makeDue(office, id)

  expect(faultOf(await cluster.ended(id))).toMatchObject({ kind: 'timeout' })
  expect(office.runs).toEqual([])
  expect(office.node.limits.running).toBe(0)
})

test('a call that ends undecided takes its approval with it, arguments included', async () => {
  const office = open()
  const { approval } = await hold(office, { requestId: 'held' })

  await office.node.followUp.cancel(ADA, 'held')
  const closed = await office.node.engine.approvals.get(ADA.tenant, approval.id)
  const deciding = office.node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')

  expect(closed).toMatchObject({ status: 'canceled', args: null })
  await expect(deciding).rejects.toMatchObject({ code: 'CALL_ENDED' })
  expect(await pending(office)).toEqual([])
})

test.each([{ hold: true }, {}])('no caller exceeds the limit of pending approvals: %j', async (options) => {
  const office = open({ limits: { pendingApprovalsPerCaller: 2 } })
  const ask = (amount: number, caller = ADA) => office.node.call('v1:pay', { amount }, {}, options, caller)
  const asked = await Promise.allSettled([1, 2, 3, 4, 5].map((amount) => ask(amount)))
  const waiting = await pending(office)
  for (const { id } of waiting) await office.node.engine.approvals.decisions.decide(BOB, id, 'deny')

  const codes = asked.map((one) => (one.status === 'rejected' ? (one.reason as Fault).code : 'held'))
  expect(codes).toContain('TOO_MANY_PENDING_APPROVALS')
  expect(waiting.length).toBeLessThanOrEqual(2)
  const afterwards = await ask(6).catch((thrown: Fault) => thrown.code)
  expect(afterwards).not.toBe('TOO_MANY_PENDING_APPROVALS')
  const another = await ask(7, { ...ADA, subject: 'eve' }).catch((thrown: Fault) => thrown.code)
  expect(another).not.toBe('TOO_MANY_PENDING_APPROVALS')
})

test('an undecided approval is removed with its arguments, after its caller had time to poll it', async () => {
  const office = open()
  await office.node.call('v1:pay', { amount: 1 }).catch(() => {})
  const [approval] = await pending(office)

  office.cluster.clock.advance(2 * TEN_MINUTES)

  expect(await office.node.engine.approvals.get(ADA.tenant, (approval as Approval).id)).toBeUndefined()
})

test.each([
  ['runs unrecorded', {}],
  ['is recorded', { sideEffecting: true, idempotencyRequired: false }],
])('a grant outlives a moment in which the operation was busy, where the call %s', async (_name, rules) => {
  const gate = new Gate<string>()
  let quick = 0
  const pay = operation('v1:pay', {
    args: jsonSchema<{ wait?: boolean }>({}),
    ...rules,
    concurrency: 1,
    run: ({ wait }) => (wait ? gate.pass() : ++quick),
  })
  const decide: Guard['decide'] = (_caller, _operation, args) => ((args as { wait?: boolean }).wait ? undefined : HOLD)
  const office = open({ operations: [pay as OperationDefinition], guards: [{ decide }] })
  await office.node.call('v1:pay', {}).catch(() => {})
  const [approval] = await pending(office)
  await office.node.engine.approvals.decisions.decide(BOB, (approval as Approval).id, 'approve')
  const slow = office.node.call('v1:pay', { wait: true })
  await gate.reached

  const waiting = office.node.call('v1:pay', {}, {}, { hold: true }).catch((thrown: Fault) => thrown.code)
  await settled()
  office.cluster.clock.advance(1_000)
  const refused = await waiting
  gate.open('done')
  await slow
  const reply = await office.node.call('v1:pay', {}, {}, { hold: true })
  const third = await office.node.call('v1:pay', {}).catch((thrown: Fault) => thrown.kind)

  expect(refused).toBe('BUSY')
  expect(reply).toMatchObject({ state: 'complete', result: 1 })
  expect([third, quick]).toEqual(['approval-pending', 1])
})

test('a repeat that joins the first call uses no grant', async () => {
  const office = open()
  office.says.decision = { verdict: 'allow' }
  await office.node.call('v1:pay', { amount: 1 }, { idempotencyKey: 'k' }, { holdMs: 1_000 })
  office.says.decision = HOLD
  await office.node.call('v1:pay', { amount: 1 }).catch(() => {})
  const [approval] = await pending(office)
  await office.node.engine.approvals.decisions.decide(BOB, (approval as Approval).id, 'approve')

  await office.node.call('v1:pay', { amount: 1 }, { idempotencyKey: 'k' }, { hold: true })
  const standing = await office.node.engine.approvals.get(ADA.tenant, (approval as Approval).id)
  await office.node.call('v1:pay', { amount: 1 }, {}, { hold: true })
  await settled()

  expect(standing?.status).toBe('approved')
  expect(office.runs).toHaveLength(2)
})

test('the approver sees the attachments, which cannot change afterwards', async () => {
  const slots = [{ name: 'list', acceptedTypes: ['text/plain'], maxBytes: 1_000 }]
  const office = open({}, openCluster(), { media: slots })
  const list = (source: MediaInput['source']): MediaInput => ({ name: 'list', mimeType: 'text/plain', source })
  const stored = list({ kind: 'object', objectId: 'a/b', bytes: 3, sha256: 'ff' })

  const { approval } = await hold(office, { media: [stored] })
  const view = await office.node.engine.approvals.get(ADA.tenant, approval.id)

  expect(view?.attachments).toEqual([{ name: 'list', mimeType: 'text/plain', bytes: 3, sha256: 'ff' }])
})

test('a child that is held ends its parent, which keeps no slot; sent again, both run', async () => {
  const ran: string[] = []
  const pay = operation('v1:pay', { sideEffecting: true, run: () => void ran.push('child') })
  const parent = operation('v1:parent', { model: 'async', run: (args, ctx) => ctx.call('v1:pay', args) })
  const office = open({ operations: [pay, parent] })
  const send = () => office.node.call('v1:parent', { n: 1 }, { idempotencyKey: 'k' }, { holdMs: 60_000 })

  const first = await send()
  const running = office.node.limits.running
  const [approval] = await pending(office)
  await office.node.engine.approvals.decisions.decide(BOB, (approval as Approval).id, 'approve')
  const second = await send()
  const third = await send()

  expect(first).toMatchObject({
    state: 'error',
    fault: { kind: 'approval-pending', details: { approval_id: (approval as Approval).id } },
  })
  expect(running).toBe(0)
  for (const reply of [second, third]) expect(reply.state).toBe('complete')
  expect(ran).toEqual(['child'])
})

test('a parent whose other children have run keeps its key when one is held', async () => {
  let noted = 0
  const note = operation('v1:note', { sideEffecting: true, run: () => ++noted })
  const pay = operation('v1:pay', { run: () => 'paid' })
  const parent = operation('v1:parent', {
    model: 'async',
    run: async (args, ctx) => {
      await ctx.call('v1:note', args)
      return ctx.call('v1:pay', args)
    },
  })
  const office = open({ operations: [note, pay, parent] })
  const send = () => office.node.call('v1:parent', { n: 1 }, { idempotencyKey: 'k' }, { holdMs: 60_000 })

  await send()
  const [approval] = await pending(office)
  await office.node.engine.approvals.decisions.decide(BOB, (approval as Approval).id, 'approve')
  const again = await send()

  expect(again).toMatchObject({ state: 'error', fault: { kind: 'approval-pending' } })
  expect(noted).toBe(1)
})

test('a parent with effects of its own keeps its key when a child is held', async () => {
  let began = 0
  const pay = operation('v1:pay', { run: () => 'child' })
  const parent = operation('v1:parent', {
    sideEffecting: true,
    run: (args, ctx) => {
      began++
      return ctx.call('v1:pay', args)
    },
  })
  const office = open({ operations: [pay, parent] })
  const send = (idempotencyKey: string) => office.node.call('v1:parent', { n: 1 }, { idempotencyKey })

  await send('k1')
  const [approval] = await pending(office)
  await office.node.engine.approvals.decisions.decide(BOB, (approval as Approval).id, 'approve')
  const same = await send('k1')
  const anew = await send('k2')

  expect(same).toMatchObject({ state: 'error', fault: { message: expect.stringContaining('new idempotency key') } })
  expect(anew).toMatchObject({ state: 'complete', result: 'child' })
  expect(began).toBe(2)
})

test('a call that was refused for want of an approval is in the trail', async () => {
  const office = open()
  await office.node.call('v1:pay', { amount: 1 }, { requestId: 'refused' }).catch(() => {})
  const [approval] = await pending(office)

  const entries = await office.cluster.store.audit.list({ tenant: ADA.tenant, limit: 10 })

  expect(entries).toMatchObject([
    {
      requestId: 'refused',
      verdict: 'hold',
      rule: 'policy.yaml#money',
      outcome: 'approval-pending',
      approvalId: approval?.id,
    },
  ])
})

test('a call that has used its approval, which is read for longer than the lease lasts, is run once', async () => {
  const office = open()
  const { cluster } = office
  const { approval, id } = await hold(office)
  const cutOff = operation('v1:pay', { model: 'async', run: () => new Promise(() => {}) })
  office.node.kill()
  const first = new Node(cluster, { operations: [cutOff] })
  await first.engine.approvals.decisions.decide(BOB, approval.id, 'approve')
  first.engine.worker.wake()
  await settled()
  first.kill()
  const { records } = cluster.store
  const readable = new Gate<void>()
  cluster.store = {
    ...cluster.store,
    records: { ...records, get: (key) => readable.pass().then(() => records.get(key)) },
  }
  const next = open({}, cluster)
  for (let claims = 0; claims < 2; claims++) {
    cluster.clock.advance(LEASE_MS)
    next.node.engine.worker.wake()
    await settled()
  }

  readable.open()
  await cluster.ended(id)
  await settled()

  expect(next.runs).toHaveLength(1)
})
