/** A repeat is not a second call: idempotency keys, and what a repeat with the same key finds. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/core/call/caller.ts'
import { verifies } from '../requirements.ts'
import { answered, createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

/** A side effect that counts how often it happened. */
function createTill() {
  const taken: number[] = []
  const pay = operation('v1:till.pay', {
    args: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
    sideEffecting: true,
    run: ({ amount }) => {
      taken.push(Number(amount))
      return { payments: taken.length }
    },
  })
  return { taken, pay }
}

test('an operation with side effects wants an idempotency key', async () => {
  verifies('opencall:035')
  const { pay, taken } = createTill()
  const site = await startSite({ operations: [pay] })

  const refused = await site.call('v1:till.pay', { amount: 5 }, { requestId: 'pay-1' })

  expect(refused).toMatchObject({
    status: 400,
    body: { requestId: 'pay-1', state: 'error', error: { code: 'IDEMPOTENCY_KEY_REQUIRED' } },
  })
  expect(taken).toEqual([])
})

test('a repeat gets the stored outcome under its own request id and session', async () => {
  verifies('opencall:037', 'opencall:032', 'opencall:056')
  const { pay, taken } = createTill()
  const site = await startSite({ operations: [pay] })

  const first = await site.call('v1:till.pay', { amount: 5 }, { requestId: 'a', sessionId: 's1', idempotencyKey: 'k' })
  const again = await site.call('v1:till.pay', { amount: 5 }, { requestId: 'b', sessionId: 's2', idempotencyKey: 'k' })
  const bare = await site.call('v1:till.pay', { amount: 5 }, { requestId: 'c', idempotencyKey: 'k' })

  expect(first).toMatchObject({ status: 200, body: { requestId: 'a', sessionId: 's1', result: { payments: 1 } } })
  expect(again).toMatchObject({ status: 200, body: { requestId: 'b', sessionId: 's2', result: { payments: 1 } } })
  expect(bare.body).toEqual({ requestId: 'c', state: 'complete', result: { payments: 1 } })
  expect(taken).toEqual([5])
})

test('the same key with other input is refused, and for another operation it is another key', async () => {
  verifies('opencall:037')
  const { pay, taken } = createTill()
  const refund = operation('v1:till.refund', { sideEffecting: true, run: () => 'refunded' })
  const site = await startSite({ operations: [pay, refund] })
  await site.call('v1:till.pay', { amount: 5 }, { idempotencyKey: 'k' })

  const other = await site.call('v1:till.pay', { amount: 6 }, { idempotencyKey: 'k' })
  const elsewhere = await site.call('v1:till.refund', {}, { idempotencyKey: 'k' })

  expect(other).toMatchObject({ status: 400, body: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } })
  expect(elsewhere.body.result).toBe('refunded')
  expect(taken).toEqual([5])
})

test('the content of an attachment is part of the input', async () => {
  verifies('opencall:037')
  const texts: string[] = []
  const send = operation('v1:letters.send', {
    sideEffecting: true,
    media: [{ name: 'letter', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
    run: async (_args, ctx) => void texts.push((await ctx.media.letter?.text()) ?? ''),
  })
  const site = await startSite({ operations: [send] })
  const post = async (text: string) => {
    const form = new FormData()
    const media = [{ name: 'letter', mimeType: 'text/plain', part: 'file' }]
    form.set('envelope', JSON.stringify({ op: 'v1:letters.send', media, ctx: { idempotencyKey: 'k' } }))
    form.set('file', new Blob([text], { type: 'text/plain' }))
    return answered(await site.request('/call', { method: 'POST', body: form }))
  }

  const first = await post('dear sir')
  const again = await post('dear sir')
  const other = await post('dear madam')

  expect(first).toMatchObject({ status: 200, body: { result: null } })
  expect(again).toMatchObject({ status: 200, body: { result: null } })
  expect(other).toMatchObject({ status: 400, body: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } })
  expect(texts).toEqual(['dear sir'])
})

test('a repeat in flight joins the first: sync callers wait for it, async ones find it under their own id', async () => {
  verifies('opencall:037', 'opencall:056')
  const slowGate = createGate<number>()
  const buildGate = createGate<number>()
  const began: string[] = []
  const slow = operation('v1:jobs.slow', {
    sideEffecting: true,
    run: (_args, ctx) => {
      began.push(ctx.requestId)
      return slowGate.pass()
    },
  })
  const build = operation('v1:jobs.build', {
    model: 'async',
    run: (_args, ctx) => {
      began.push(ctx.requestId)
      return buildGate.pass()
    },
  })
  const site = await startSite({ operations: [slow, build] })

  const first = site.call('v1:jobs.slow', {}, { requestId: 'slow-1', sessionId: 's1', idempotencyKey: 'k' })
  await slowGate.began
  const joined = site.call('v1:jobs.slow', {}, { requestId: 'slow-2', sessionId: 's2', idempotencyKey: 'k' })
  await site.call('v1:jobs.build', {}, { requestId: 'build-1', sessionId: 's1', idempotencyKey: 'k' })
  await buildGate.began
  const second = await site.call('v1:jobs.build', {}, { requestId: 'build-2', sessionId: 's2', idempotencyKey: 'k' })
  const events = await site.request('/ops/build-2/events')
  slowGate.open(1)
  const joinedAnswer = await joined
  buildGate.open(2)

  expect((await first).body).toMatchObject({ requestId: 'slow-1', sessionId: 's1', result: 1 })
  expect(joinedAnswer).toMatchObject({ status: 200, body: { requestId: 'slow-2', sessionId: 's2', result: 1 } })
  expect(second).toMatchObject({ status: 202, body: { requestId: 'build-2', sessionId: 's2' } })
  expect(second.body.location?.uri).toBe(`${site.url}/ops/build-2`)
  expect((await site.ended('build-2')).body).toMatchObject({ requestId: 'build-2', sessionId: 's2', result: 2 })
  expect((await site.ended('build-1')).body).toMatchObject({ requestId: 'build-1', sessionId: 's1', result: 2 })
  const told = await events.text()
  expect(told).toContain('"requestId":"build-2","state":"complete","sessionId":"s2"')
  expect(told).not.toContain('s1')
  expect(began).toEqual(['slow-1', 'build-1'])
})

test('one repeat that arrives twice in the same instant is one repeat', async () => {
  verifies('opencall:037')
  const clock = createStepClock()
  const gate = createGate<number>()
  const slow = operation('v1:jobs.slow', { sideEffecting: true, run: () => gate.pass() })
  const { server } = await startSite({ operations: [slow], clock })
  // Straight to the engine: two requests over HTTP seldom fall into one commit.
  const call = (requestId: string, waitMs: number) =>
    server.engine.call(
      { operation: 'v1:jobs.slow', args: {}, media: [], requestId, idempotencyKey: 'k', waitMs },
      () => ANONYMOUS,
    )

  const first = call('a', 2_000)
  await gate.began
  const repeats = Promise.all([call('b', 1_000), call('b', 1_000)])
  await clock.timer(1_000)
  gate.open(1)

  expect(await first).toMatchObject({ requestId: 'a', result: 1 })
  for (const reply of await repeats) expect(reply).toMatchObject({ requestId: 'b', result: 1 })
})

test('keys are kept over a restart, for a day and no longer', async () => {
  verifies('opencall:037')
  const clock = createStepClock()
  const data = temporaryFolder()
  const { pay, taken } = createTill()
  // So that the only timer of five seconds is the housekeeping's, which removes what is past keeping.
  const options = { operations: [pay], data, clock, work: { claimEveryMs: 4_000 } }
  const before = await startSite(options)
  await before.call('v1:till.pay', { amount: 5 }, { idempotencyKey: 'k' })
  await before.close()

  const after = await startSite(options)
  clock.advance(86_400_000 - 1)
  await clock.timer(5_000)
  const again = await after.call('v1:till.pay', { amount: 5 }, { requestId: 'b', idempotencyKey: 'k' })
  clock.advance(5_000)
  await clock.timer(5_000)
  const anew = await after.call('v1:till.pay', { amount: 5 }, { requestId: 'c', idempotencyKey: 'k' })

  expect(again).toMatchObject({ status: 200, body: { requestId: 'b', result: { payments: 1 } } })
  expect(anew).toMatchObject({ status: 200, body: { requestId: 'c', result: { payments: 2 } } })
  expect(taken).toEqual([5, 5])
})

test('a business failure is an outcome like any other, and is kept', async () => {
  verifies('opencall:037')
  let runs = 0
  const charge = operation('v1:cards.charge', {
    sideEffecting: true,
    run: (_args, ctx) => {
      runs++
      return ctx.fail('CARD_DECLINED', 'The card was declined.')
    },
  })
  const site = await startSite({ operations: [charge] })

  const first = await site.call('v1:cards.charge', {}, { idempotencyKey: 'k' })
  const again = await site.call('v1:cards.charge', {}, { idempotencyKey: 'k' })

  for (const answer of [first, again]) {
    expect(answer).toMatchObject({ status: 200, body: { state: 'error', error: { code: 'CARD_DECLINED' } } })
  }
  expect(runs).toBe(1)
})

test('a call canceled before it began gives its key back', async () => {
  verifies('opencall:037', 'opencall:051')
  const gate = createGate<number>()
  const began: string[] = []
  const bake = operation('v1:cakes.bake', {
    model: 'async',
    concurrency: 1,
    run: (_args, ctx) => {
      began.push(ctx.requestId)
      return gate.pass()
    },
  })
  const site = await startSite({ operations: [bake] })
  await site.call('v1:cakes.bake', {}, { requestId: 'first' })
  await gate.began
  await site.call('v1:cakes.bake', {}, { requestId: 'second', idempotencyKey: 'k' })
  expect((await site.poll('second')).body.state).toBe('accepted')

  const canceled = await answered(await site.request('/ops/second', { method: 'DELETE' }))
  const third = await site.call('v1:cakes.bake', {}, { requestId: 'third', idempotencyKey: 'k' })
  gate.open(1)

  expect(canceled).toMatchObject({ status: 200, body: { state: 'error', error: { code: 'CANCELED' } } })
  expect(third.body.state).toBe('accepted')
  expect((await site.ended('third')).body.result).toBe(1)
  expect(began).toEqual(['first', 'third'])
})

test('a side effect cut off by a shutdown is a kept unknown, never a second try', async () => {
  verifies('opencall:037')
  const data = temporaryFolder()
  let runs = 0
  const began = Promise.withResolvers<void>()
  const wire = operation('v1:money.wire', {
    sideEffecting: true,
    run: (_args, ctx) => {
      runs++
      began.resolve()
      return new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    },
  })
  const before = await startSite({ operations: [wire], data })
  const cutOff = before.call('v1:money.wire', {}, { idempotencyKey: 'k' })
  await began.promise
  await Promise.allSettled([cutOff, before.close(0)])

  const after = await startSite({ operations: [wire], data })
  const again = await after.call('v1:money.wire', {}, { requestId: 'b', idempotencyKey: 'k' })

  expect(again).toMatchObject({ status: 500, body: { requestId: 'b', error: { code: 'OUTCOME_UNKNOWN' } } })
  expect(runs).toBe(1)
})

test('a question without side effects is asked again, key or not', async () => {
  verifies('opencall:036')
  let now = 0
  const time = operation('v1:clock.time', { run: () => ++now })
  const site = await startSite({ operations: [time] })

  const first = await site.call('v1:clock.time', {}, { idempotencyKey: 'k' })
  const again = await site.call('v1:clock.time', {}, { idempotencyKey: 'k' })

  expect([first.body.result, again.body.result]).toEqual([1, 2])
})
