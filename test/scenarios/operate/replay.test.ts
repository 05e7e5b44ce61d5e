/** An operator runs ended calls again: as new calls, each once, under the policy of now. */
import { Fault, operation, type PolicyDefinition } from 'callplane'
import { expect, test } from 'vitest'
import type { Replayed } from '../../../src/engine/admin/calls/replay.ts'
import { openWorks } from './operators.ts'

const REPLAY = 'v1:callplane.calls.replay'

test('a failed call runs again as its owner, as a new call that names the first one', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 1)
  const [first] = await works.ids()
  works.state.broken = false

  const { started, refused } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })

  expect(refused).toEqual([])
  expect(started).toEqual([{ from: first, id: expect.any(String), requestId: started[0]?.id }])
  const { body } = await works.endedOf('ada', started[0]?.requestId ?? '')
  expect(body).toMatchObject({ state: 'complete', result: { paid: true } })
  expect(works.runs.map(({ by }) => by)).toEqual(['ada', 'ada'])
  const stored = await works.stored(started[0]?.id ?? '')
  expect(stored).toMatchObject({ args: { n: 0 }, extras: { replayOf: first, replayedBy: 'callplane|replayer' } })
  expect(await works.ids('main', { replayOf: first as string })).toEqual([started[0]?.id])
})

test('a replay as oneself runs for the replayer, also with other arguments', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 1)
  const [first] = await works.ids()
  works.state.broken = false

  const args = { ids: [first], as: 'me', args: { n: 7 }, why: 'x' }
  const { started } = await works.result<Replayed>('replayer', REPLAY, args)

  await works.endedOf('replayer', started[0]?.requestId ?? '')
  expect(works.runs.at(-1)).toEqual({ by: 'replayer', args: { n: 7 } })
})

test('other arguments are refused for several calls, and for a call of another caller as its owner', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 2)
  const ids = await works.ids()
  const edit = { args: { n: 7 }, why: 'x' }

  const several = await works.as('replayer', REPLAY, { ...edit, ids, as: 'me' })
  const { body } = await works.endedOf('replayer', several.body.requestId)
  const other = await works.result<Replayed>('replayer', REPLAY, { ...edit, ids: [ids[0]], as: 'owner' })

  expect(body.error?.code).toBe('VALIDATION_ERROR')
  expect(other).toMatchObject({ started: [], refused: [{ id: ids[0], code: 'EDITED_FOR_OTHER' }] })
  expect(works.runs).toHaveLength(2)
})

test('a repeated replay request starts nothing twice', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 3)
  const ids = await works.ids()
  works.state.broken = false
  const again = () =>
    works.result<Replayed>('replayer', REPLAY, { ids, as: 'owner', why: 'x' }, { idempotencyKey: 'the-replay' })

  const [one, other] = await Promise.all([again(), again()])

  expect(other).toEqual(one)
  expect(await works.ids()).toHaveLength(6)
})

test('a thousand dead letters are replayed by a filter, each once, by two people at once', {
  timeout: 60_000,
}, async () => {
  const works = await openWorks({ limits: { openCallsPerCaller: 5_000, queuedCalls: 5_000 } })
  await works.make('ada', 'v1:shop.pay', 500)
  await works.make('bob', 'v1:shop.pay', 500)
  const first = new Set(await works.ids())
  works.state.broken = false
  const all = {
    filter: { deadLetter: true, operation: 'v1:shop.*' },
    expected: 1_000,
    as: 'owner',
    why: 'the bank is back',
  }

  const [one, other] = await Promise.all([
    works.result<Replayed>('replayer', REPLAY, all),
    works.result<Replayed>('replayer', REPLAY, all),
  ])

  const started = [...one.started, ...other.started]
  expect(new Set(started.map(({ from }) => from))).toEqual(first)
  expect(started).toHaveLength(1_000)
  for (const { code } of [...one.refused, ...other.refused]) expect(code).toBe('ALREADY_REPLAYED')
  for (const { requestId, from } of started.slice(0, 20)) {
    const who = (await works.stored(from))?.caller.subject as 'ada' | 'bob'
    expect((await works.endedOf(who, requestId)).body.state).toBe('complete')
  }
  expect(await works.ids()).toHaveLength(2_000)
  expect((await works.dead()).calls).toEqual([])
})

test('the policy decides again, and neither an old approval nor the replayer counts', async () => {
  const rule = { id: 'second-person', effect: 'approve' as const, what: { operation: 'v1:shop.pay' } }
  const policy: PolicyDefinition = { default: 'allow', rules: [rule] }
  const works = await openWorks({ policy })
  const { body: made } = await works.as('ada', 'v1:shop.pay', { n: 1 })
  const waiting = async () => {
    const { body } = await works.as('operator', 'v1:callplane.approvals.list')
    return (body.result as { approvals: { id: string; caller: string }[] }).approvals
  }
  const decide = async (who: 'operator' | 'replayer', id: string) =>
    (await works.as(who, 'v1:callplane.approvals.decide', { id, verdict: 'approve' })).body
  await decide('operator', (await waiting())[0]?.id ?? '')
  await works.endedOf('ada', made.requestId)
  const [first] = await works.ids()
  works.state.broken = false

  const { started } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })

  expect(works.runs).toHaveLength(1)
  const [held] = await waiting()
  expect(held).toMatchObject({ id: started[0]?.id, caller: 'callplane|ada' })
  expect((await decide('replayer', held?.id ?? '')).error?.code).toBe('SELF_APPROVAL')
  expect((await decide('operator', held?.id ?? '')).error).toBeUndefined()
  expect((await works.endedOf('ada', started[0]?.requestId ?? '')).body.state).toBe('complete')
})

test('calls that cannot be replayed are refused with the reason', async () => {
  const sealed = operation('v1:shop.sign', {
    model: 'async',
    requires: { secrets: ['pin'] },
    run: () => {
      throw new Fault('upstream', 'Away.')
    },
  })
  const gone = operation('v1:shop.gone', { model: 'async', run: () => null })
  const stay = operation('v1:shop.stay', { model: 'async', run: () => new Promise(() => {}) })
  const works = await openWorks({ operations: [sealed, gone, stay] })
  const open = await works.as('ada', 'v1:shop.stay')
  const by = { headers: works.people.ada.headers }
  const signed = await works.call(
    'v1:shop.sign',
    {},
    { idempotencyKey: 's' },
    { ...by, envelope: { secrets: { pin: '1234' } } },
  )
  expect(open.body.error).toBeUndefined()
  const ids = await works.ids()

  const { refused } = await works.result<Replayed>('replayer', REPLAY, {
    ids: [...ids, 'nothing'],
    as: 'owner',
    why: 'x',
  })

  expect(refused.map(({ code }) => code)).toEqual(
    signed.body.error ? ['CALL_OPEN', 'NOT_FOUND'] : ['SECRETS_GONE', 'CALL_OPEN', 'NOT_FOUND'],
  )
})

test('the attachments of a replayed call are its own', async () => {
  const read: string[] = []
  const scan = operation('v1:shop.scan', {
    model: 'async',
    media: [{ name: 'page', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
    run: async (_, { media }) => {
      read.push((await media.page?.text()) ?? '')
      throw new Fault('upstream', 'Away.')
    },
  })
  const works = await openWorks({ operations: [scan] })
  const form = new FormData()
  const envelope = {
    op: 'v1:shop.scan',
    args: {},
    ctx: { requestId: 'r1', idempotencyKey: 'k1' },
    media: [{ name: 'page', mimeType: 'text/plain', part: 'page' }],
  }
  form.set('envelope', new Blob([JSON.stringify(envelope)], { type: 'application/json' }))
  form.set('page', new Blob(['hello'], { type: 'text/plain' }))
  await works.request('/call', { method: 'POST', body: form, headers: works.people.ada.headers })
  await works.endedOf('ada', 'r1')
  const [first] = await works.ids()

  const { started } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })
  await works.endedOf('ada', started[0]?.requestId ?? '')

  expect(read).toEqual(['hello', 'hello'])
  const stored = await works.stored(started[0]?.id ?? '')
  expect(stored?.media[0]?.source).toMatchObject({
    kind: 'object',
    objectId: expect.stringContaining(started[0]?.id ?? ''),
  })
})

test('the operations of the server and the calls of other tenants cannot be replayed', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 1)
  const [first] = await works.ids()
  const { started } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })
  expect(started).toHaveLength(1)
  const [ours] = await works.ids('main', { operation: REPLAY })

  const own = await works.result<Replayed>('replayer', REPLAY, { ids: [ours], as: 'owner', why: 'x' })
  const others = await works.result<Replayed>('stranger', REPLAY, { ids: [first], as: 'owner', why: 'x' })

  expect(own.refused).toMatchObject([{ code: 'NOT_REPLAYABLE' }])
  expect(others).toMatchObject({ started: [], refused: [{ id: first, code: 'NOT_FOUND' }] })
  expect((await works.as('reader', REPLAY, { ids: [first], as: 'me', why: 'x' })).body.error?.code).toBe('UNKNOWN_OP')
})
