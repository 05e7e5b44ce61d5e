/** Calls that a policy holds until another person approves them: over OpenCALL, where they wait and resume. */
import { hash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { onlyOne, openDesk, PEOPLE, policy } from './approving.ts'
import { createStepClock, startSite } from './server.ts'

describe('a held call', () => {
  test('is accepted, says what it waits for, and runs once when it is approved', async () => {
    verifies('contract:105')
    const desk = await openDesk()

    const first = await desk.refund(500)
    const { requestId } = first.body
    const polled = await desk.poll(requestId, PEOPLE.agent.headers)
    const approval = await onlyOne(desk)
    const before = [...desk.ran]
    const decided = await desk.decide(approval.id)
    const ended = await desk.outcome(requestId)

    expect(first.status).toBe(202)
    expect(first.body).toMatchObject({ state: 'accepted', progress: { message: 'Waiting for an approval.' } })
    expect(polled.body).toMatchObject({ state: 'accepted', progress: { message: 'Waiting for an approval.' } })
    expect(approval).toMatchObject({
      status: 'pending',
      operation: 'v1:orders.refund@1.0.0',
      caller: 'callplane|agent',
      args: { amount: 500 },
      rule: 'policy#large-refunds',
      reason: 'Refunds above 100 need a second person.',
      waits: true,
    })
    expect(before).toEqual([])
    expect(decided.body.result).toMatchObject({
      status: 'approved',
      decision: { by: 'callplane|boss', why: 'looked at it' },
    })
    expect(ended.body).toMatchObject({ state: 'complete', result: { refunded: 500 } })
    expect(desk.ran).toEqual([{ amount: 500 }])
    expect(await desk.waiting()).toEqual([])
  })

  test('ends without having run when it is denied, and tells why', async () => {
    const desk = await openDesk()
    const { requestId } = (await desk.refund(500)).body

    await desk.decide((await onlyOne(desk)).id, 'deny')
    const { body } = await desk.outcome(requestId)

    expect(body).toMatchObject({ state: 'error', error: { code: 'APPROVAL_DENIED' } })
    expect(body.error?.message).toContain('looked at it')
    expect(desk.ran).toEqual([])
  })

  test('ends without a run if it is not decided within ten minutes, and cannot be decided later', async () => {
    const clock = createStepClock()
    const desk = await openDesk({ clock })
    const { requestId } = (await desk.refund(500)).body
    const { id } = await onlyOne(desk)

    clock.advance(599_000)
    const early = await desk.poll(requestId, PEOPLE.agent.headers)
    clock.advance(1_000)
    const late = await desk.decide(id)
    const { body } = await clock.passing(desk.outcome(requestId))

    expect(early.body.state).toBe('accepted')
    expect(late.body.error?.code).toMatch(/APPROVAL_TIMEOUT|CALL_ENDED/)
    expect(body).toMatchObject({ state: 'error', error: { code: 'APPROVAL_TIMEOUT' } })
    expect(desk.ran).toEqual([])
  })

  test('that has waited has all of its time and attempts before it', async () => {
    verifies('contract:105')
    const clock = createStepClock()
    let tries = 0
    const flaky = operation('v1:orders.refund', {
      model: 'async',
      deadlineMs: 60_000,
      retry: { attempts: 2, backoffMs: 1 },
      run: (_args, ctx) => {
        tries++
        return tries === 1 ? ctx.fail('NOT_YET', 'Once more.', { retryable: true }) : tries
      },
    })
    const desk = await openDesk({ clock, operations: [flaky] })
    const { requestId } = (await desk.refund(500)).body
    clock.advance(300_000)

    await desk.decide((await onlyOne(desk)).id)
    const { body } = await clock.passing(desk.outcome(requestId), 10)

    expect(body).toMatchObject({ state: 'complete', result: 2 })
  })

  test('can be canceled, and then cannot be decided', async () => {
    const desk = await openDesk()
    const { requestId } = (await desk.refund(500)).body
    const { id } = await onlyOne(desk)

    await desk.request(`/ops/${requestId}`, { method: 'DELETE', headers: PEOPLE.agent.headers })
    const { body } = await desk.decide(id)

    expect(body.error?.code).toBe('CALL_ENDED')
    expect(desk.ran).toEqual([])
  })

  test('is the same call when it is sent again under its key, also after it has run', async () => {
    const desk = await openDesk()
    const first = await desk.refund(500, { idempotencyKey: 'k1' })
    const again = await desk.refund(500, { idempotencyKey: 'k1' })
    const approval = await onlyOne(desk)

    await desk.decide(approval.id)
    await desk.outcome(first.body.requestId)
    const after = await desk.refund(500, { idempotencyKey: 'k1' })

    expect(again.body.state).toBe('accepted')
    expect((await desk.outcome(after.body.requestId)).body.result).toEqual({ refunded: 500 })
    expect(desk.ran).toHaveLength(1)
  })

  test('outlives its server: decided under the next one, it runs there', async () => {
    const first = await openDesk()
    const { requestId } = (await first.refund(500)).body
    const { id } = await onlyOne(first)
    await first.close()

    const second = await openDesk({ data: first.data })
    await second.decide(id)
    const { body } = await second.outcome(requestId)

    expect(body).toMatchObject({ state: 'complete', result: { refunded: 500 } })
    expect([first.ran, second.ran]).toEqual([[], [{ amount: 500 }]])
  })
})

describe('deciding', () => {
  test('is done once', async () => {
    const desk = await openDesk()
    await desk.refund(500)
    const { id } = await onlyOne(desk)

    const decisions = await Promise.all([desk.decide(id), desk.decide(id, 'deny', 'root'), desk.decide(id)])

    const codes = decisions.map(({ body }) => body.error?.code ?? 'decided').sort()
    expect(codes.filter((code) => code === 'decided')).toHaveLength(1)
    expect(codes.filter((code) => code === 'APPROVAL_DECIDED' || code === 'CALL_ENDED')).toHaveLength(2)
  })

  test('is not possible for the caller, unless the policy allows it', async () => {
    const own = { headers: PEOPLE.root.headers }
    const desk = await openDesk()
    await desk.call('v1:orders.refund', { amount: 500 }, undefined, own)
    const refused = await desk.decide((await onlyOne(desk)).id, 'approve', 'root')
    const [rule] = policy.rules ?? []
    const lenient = await openDesk({
      policy: { ...policy, rules: [{ ...rule, id: 'mine', effect: 'approve', approval: { selfApproval: true } }] },
    })
    await lenient.call('v1:orders.refund', { amount: 500 }, undefined, own)
    const allowed = await lenient.decide((await onlyOne(lenient)).id, 'approve', 'root')

    expect(refused.body.error?.code).toBe('SELF_APPROVAL')
    expect(allowed.body.result).toMatchObject({ status: 'approved' })
  })

  test('needs the scope, and is possible only in the same tenant', async () => {
    const desk = await openDesk()
    await desk.refund(500)
    const { id } = await onlyOne(desk)

    const unscoped = await desk.as('another', 'v1:callplane.approvals.decide', { id, verdict: 'approve' })
    const nobody = await desk.call('v1:callplane.approvals.list')
    const listed = await desk.waiting('stranger')
    const shown = await desk.as('stranger', 'v1:callplane.approvals.get', { id })
    const decided = await desk.decide(id, 'approve', 'stranger')

    expect(unscoped).toMatchObject({ status: 400, body: { error: { code: 'UNKNOWN_OP' } } })
    expect(nobody.status).toBe(401)
    expect(listed).toEqual([])
    for (const { body } of [shown, decided]) expect(body.error?.code).toBe('NOT_FOUND')
    expect(desk.ran).toEqual([])
  })

  test('is in the audit trail: the approver, and the approval of each call', async () => {
    const clock = createStepClock(Date.UTC(2026, 0, 1))
    const desk = await openDesk({ clock })
    const { requestId } = (await desk.refund(500)).body
    const { id } = await onlyOne(desk)
    clock.advance(2_500)
    await desk.decide(id)
    await desk.outcome(requestId)

    const { body } = await desk.as('root', 'v1:callplane.audit.list', { limit: 10 })
    const { entries } = body.result as unknown as { entries: Record<string, unknown>[] }
    const refused = await desk.as('boss', 'v1:callplane.audit.list')

    expect(entries.filter(({ operation }) => operation === 'v1:orders.refund@1.0.0')).toEqual([
      {
        id,
        owner: 'callplane|agent',
        requestId,
        operation: 'v1:orders.refund@1.0.0',
        fingerprint: hash('sha256', '["v1:orders.refund",{"amount":500},[]]'),
        verdict: 'hold',
        rule: 'policy#large-refunds',
        approvalId: id,
        backend: 'handler',
        attempts: 1,
        outcome: 'complete',
        startedAt: '2026-01-01T00:00:00.000Z',
        endedAt: '2026-01-01T00:00:02.500Z',
      },
    ])
    expect(entries.some(({ owner }) => owner === 'callplane|boss')).toBe(true)
    expect(refused.body.error?.code).toBe('UNKNOWN_OP')
  })
})

describe('our own operations', () => {
  test('are listed only for callers with permission, and are not tools', async () => {
    const desk = await openDesk()
    const listed = async (headers: Record<string, string> = {}) => {
      const response = await desk.request('/.well-known/ops', { headers })
      const { operations } = (await response.json()) as { operations: { op: string }[] }
      const ours = operations.map(({ op }) => op.replace('v1:callplane.', '')).filter((op) => !op.startsWith('v1:'))
      return { ours, caching: response.headers.get('cache-control') }
    }

    expect(await listed()).toEqual({ ours: [], caching: 'public, max-age=60' })
    expect(await listed({ Authorization: 'Bearer nonsense' })).toMatchObject({ ours: [] })
    expect(await listed(PEOPLE.agent.headers)).toMatchObject({ ours: [] })
    const approvals = ['approvals.list', 'approvals.get', 'approvals.decide']
    expect(await listed(PEOPLE.boss.headers)).toEqual({
      ours: expect.arrayContaining(approvals),
      caching: 'private, no-cache',
    })
    expect((await listed(PEOPLE.root.headers)).ours).toEqual(
      expect.arrayContaining([...approvals, 'audit.list', 'nodes.list']),
    )
    for (const path of ['/tools', '/explorer/tools']) {
      expect(await (await desk.request(path, { headers: PEOPLE.root.headers })).text()).not.toContain('pprovals')
    }
  })

  test('have a reserved namespace', async () => {
    const ours = operation('v1:callplane.harmless', { run: () => null })

    await expect(openDesk({ operations: [ours] })).rejects.toThrow(
      'the namespace "callplane" is reserved for the server',
    )
  })

  test('without authentication can be reached only by the administrator', async () => {
    const held = operation('v1:orders.refund', { model: 'async', run: () => 'done' })
    const site = await startSite({ operations: [held], policy: { default: 'approve' } })
    const file = join(site.data, 'admin.token')
    const headers = { Authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` }
    const { requestId } = (await site.call('v1:orders.refund')).body

    const local = await site.call('v1:callplane.approvals.list')
    const forged = await site.call('v1:callplane.approvals.list', {}, undefined, {
      headers: { Authorization: `Bearer cpadmin_${'A'.repeat(43)}` },
    })
    const listed = await site.call('v1:callplane.approvals.list', {}, undefined, { headers })
    const [{ id }] = (listed.body.result as { approvals: { id: string }[] }).approvals as [{ id: string }]
    const decided = await site.call('v1:callplane.approvals.decide', { id, verdict: 'approve' }, undefined, { headers })

    for (const { body } of [local, forged]) expect(body.error?.code).toBe('UNKNOWN_OP')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(decided.body.result).toMatchObject({ status: 'approved', decision: { by: 'callplane|admin' } })
    expect((await site.ended(requestId)).body.result).toBe('done')
  })
})
