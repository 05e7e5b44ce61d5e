/** A call's timeline: attempts that failed, were held or were cut off, and the one that ended it. */
import { operation, type PolicyDefinition } from 'callplane'
import { expect, test } from 'vitest'
import { readWithTicket } from '../../streams/sse.ts'
import { openDesk } from '../approving.ts'
import { createGate, temporaryFolder } from '../server.ts'
import { type Office, openOffice } from './office.ts'

interface Details {
  call: { state: string; attempts: number; held?: true; code?: string }
  decision?: { verdict: string; rule?: string }
  approval?: { status: string; args?: unknown }
  attempts: { attempt: number; outcome: string; startedAt?: string; endedAt?: string; retryAt?: string }[]
  error?: { code: string; message: string }
}

const detailsOf = async (office: Office, requestId: string) =>
  office.read<Details>('reader', 'calls.get', { id: await office.idOf(requestId) })

const outcomes = ({ attempts }: Details) => attempts.map(({ attempt, outcome }) => [attempt, outcome])

test('attempts that failed are listed with their reason, and the last one with the end', async () => {
  const flaky = operation('v1:flaky', {
    model: 'async',
    retry: { attempts: 3, backoffMs: 1 },
    run: (_, ctx) => {
      if (ctx.attempt < 3) ctx.fail('DOWN', 'The wire is down.', { retryable: true })
      return 'up'
    },
  })
  const office = await openOffice({ operations: [flaky] })
  await office.done('ada', 'v1:flaky', 'r1')

  const details = await detailsOf(office, 'r1')

  expect(details.call).toMatchObject({ state: 'complete', attempts: 3 })
  const failed = {
    outcome: 'failed',
    startedAt: expect.any(String),
    endedAt: expect.any(String),
    retryAt: expect.any(String),
    code: 'DOWN',
    message: 'The wire is down.',
  }
  expect(details.attempts).toEqual([
    { attempt: 1, ...failed },
    { attempt: 2, ...failed },
    { attempt: 3, outcome: 'complete', startedAt: expect.any(String), endedAt: expect.any(String) },
  ])
  expect((await office.list({ minAttempts: 3 })).calls).toHaveLength(1)
})

test('a call that fails for good has the fault in its last attempt', async () => {
  const broken = operation('v1:broken', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    run: (_, ctx) => ctx.fail('DOWN', 'It is down.', { retryable: true }),
  })
  const office = await openOffice({ operations: [broken] })
  await office.done('ada', 'v1:broken', 'r1')

  const details = await detailsOf(office, 'r1')

  expect(details.error).toEqual({ code: 'DOWN', message: 'It is down.' })
  expect(details.attempts).toMatchObject([
    { attempt: 1, outcome: 'failed', code: 'DOWN' },
    { attempt: 2, outcome: 'failed', code: 'DOWN', message: 'It is down.' },
  ])
})

test('an attempt that a stopping server cut off is listed after the next start', async () => {
  const data = temporaryFolder()
  const gate = createGate<string>()
  const wait = (run: () => Promise<string>) => operation('v1:wait', { model: 'async', run })
  const before = await openOffice({ data, operations: [wait(() => gate.pass())] })
  await before.as('ada', 'v1:wait', {}, { requestId: 'r1' })
  await gate.began
  await before.close(0)
  gate.open('too late')

  const after = await openOffice({ data, operations: [wait(async () => 'done')] })
  await after.done('ada', 'v1:wait', 'r1')

  const details = await detailsOf(after, 'r1')
  expect(outcomes(details)).toEqual([
    [1, 'cut-off'],
    [2, 'complete'],
  ])
})

const policy: PolicyDefinition = {
  default: 'allow',
  rules: [
    { id: 'large', effect: 'approve', what: { operation: 'v1:orders.refund' }, when: { path: 'amount', gt: 100 } },
  ],
}

test('a held call shows the rule and the approval without arguments, and that it was held once it ran', async () => {
  const desk = await openDesk({ policy })
  await desk.refund(500, { requestId: 'r1' })
  const [approval] = await desk.waiting()
  const read = async () => {
    const { body } = await desk.as('root', 'v1:callplane.calls.get', { id: approval?.id })
    return body.result as unknown as Details
  }
  const { body: held } = await desk.as('root', 'v1:callplane.calls.list', { held: true })

  const waiting = await read()
  await desk.decide(approval?.id as string)
  await desk.outcome('r1')
  const done = await read()

  expect(held.result).toMatchObject({ calls: [{ requestId: 'r1', held: true, attempts: 0 }] })
  expect(waiting.decision).toEqual({ verdict: 'hold', rule: 'policy#large' })
  expect(waiting.approval).toMatchObject({ status: 'pending' })
  expect(waiting.approval).not.toHaveProperty('args')
  expect(outcomes(waiting)).toEqual([[1, 'held']])
  expect(outcomes(done)).toEqual([
    [1, 'held'],
    [1, 'complete'],
  ])
  expect(done.approval).toMatchObject({ status: 'used', decision: { by: 'callplane|boss' } })
})

test('a call that was denied was held and never started', async () => {
  const desk = await openDesk({ policy })
  await desk.refund(500, { requestId: 'r1' })
  const [approval] = await desk.waiting()
  await desk.decide(approval?.id as string, 'deny')
  await desk.outcome('r1')

  const { body } = await desk.as('root', 'v1:callplane.calls.get', { id: approval?.id })

  const details = body.result as unknown as Details
  expect(details.call).toMatchObject({ state: 'error', attempts: 0 })
  expect(details.attempts).toMatchObject([{ outcome: 'held', endedAt: expect.any(String) }])
})

test('a sync call with effects that was cut off shows one start and an unknown outcome', async () => {
  const data = temporaryFolder()
  const gate = createGate<string>()
  const pay = (run: () => Promise<string>) =>
    operation('v1:pay', { sideEffecting: true, idempotencyRequired: false, ttlSeconds: 3_600, run })
  const before = await openOffice({ data, operations: [pay(() => gate.pass())] })
  const paying = before.as('ada', 'v1:pay', {}, { requestId: 'r1' }).catch(() => undefined)
  await gate.began
  await before.close(0)
  gate.open('too late')
  await paying

  const after = await openOffice({ data, operations: [pay(async () => 'again')] })
  await after.done('ada', 'v1:pay', 'r1')

  const details = await detailsOf(after, 'r1')
  expect(details.call).toMatchObject({ state: 'error', code: 'OUTCOME_UNKNOWN', attempts: 1 })
  expect(outcomes(details)).toEqual([[1, 'cut-off']])
})

test('a stream says when it ends, and has its counts after its end; its address and its ticket are not shown', async () => {
  const ticks = operation('v1:ticks', {
    frame: { type: 'integer' },
    ttlSeconds: 60,
    *run() {
      yield* [1, 2, 3]
    },
  })
  const office = await openOffice({ operations: [ticks] })
  const subscribed = await office.as('ada', 'v1:ticks', {}, { requestId: 'r1' })
  const id = await office.idOf('r1')
  const get = () => office.read<{ call: { state: string }; stream?: object }>('reader', 'calls.get', { id })

  const before = await get()
  await (await readWithTicket(subscribed)).rest()
  await office.ended('r1', office.headersOf('ada'))
  const after = await get()

  const facts = { transport: expect.any(String), encoding: 'json', endsAt: expect.any(String) }
  expect([before.call.state, before.stream]).toEqual(['streaming', { ...facts, awaited: true }])
  expect([after.call.state, after.stream]).toEqual(['complete', { ...facts, frames: 3, dropped: 0, ended: 'done' }])
})

test('a person finds their own call by its request id, and not the call of another', async () => {
  const note = operation('v1:note', { model: 'async', run: () => 'kept' })
  const office = await openOffice({ operations: [note] })
  await office.done('viewer', 'v1:note', 'mine')
  await office.done('ada', 'v1:note', 'hers')

  const { call } = await office.read<{ call: { id: string } }>('viewer', 'calls.get', { id: 'mine' })
  const { text } = await office.read<{ text: string }>('viewer', 'calls.payload', { id: 'mine', part: 'result' })
  const { body } = await office.as('viewer', 'v1:callplane.calls.get', { id: 'hers' })

  expect([call.id, text]).toEqual([await office.idOf('mine'), '"kept"'])
  expect(body.error?.code).toBe('NOT_FOUND')
  const { entries } = await office.read<{ entries: { about?: object }[] }>('viewer', 'audit.list', {
    operation: 'v1:callplane.calls.payload@1.0.0',
  })
  expect(entries[0]?.about).toEqual({ call: call.id, part: 'result' })
})
