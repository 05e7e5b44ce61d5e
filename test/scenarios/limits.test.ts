/** Every exceeded limit has its own error and a time to retry. */
import { createToken, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/core/call/caller.ts'
import { verifies } from '../requirements.ts'
import { type Answered, createGate, createStepClock, startSite } from './server.ts'

const add = operation('v1:sums.add', { run: () => 3 })

function expectBusy(answer: Answered, code: string): void {
  expect(answer).toMatchObject({ status: 503, body: { state: 'error', retryAfterMs: 1_000, error: { code } } })
  expect(answer.headers.get('Retry-After')).toBe('1')
}

describe('polls', () => {
  test('too many of one call at once are 429 with the time to wait, and after it all is well', async () => {
    verifies('opencall:088', 'opencall:115', 'opencall:136', 'opencall:152', 'opencall:153')
    const clock = createStepClock()
    const gate = createGate<number>()
    const wait = operation('v1:jobs.wait', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [wait], clock })
    for (const requestId of ['a', 'b']) await site.call('v1:jobs.wait', {}, { requestId })

    for (let n = 0; n < 10; n++) expect((await site.poll('a')).status).toBe(202)
    const refused = await site.poll('a')
    const other = await site.poll('b')
    clock.advance(refused.body.retryAfterMs ?? 0)
    const later = await site.poll('a')
    gate.open(1)

    expect(refused).toMatchObject({
      status: 429,
      body: { requestId: 'a', state: 'error', retryAfterMs: 100, error: { code: 'RATE_LIMITED' } },
    })
    expect(refused.headers.get('Retry-After')).toBe('1')
    expect(other.status).toBe(202)
    expect(later.status).toBe(202)
  })

  test('every 100 ms are never too many', async () => {
    verifies('opencall:136', 'opencall:152')
    const clock = createStepClock()
    const gate = createGate<number>()
    const wait = operation('v1:jobs.wait', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [wait], clock })
    await site.call('v1:jobs.wait', {}, { requestId: 'a' })

    for (let n = 0; n < 40; n++) {
      expect((await site.poll('a')).status).toBe(202)
      clock.advance(100)
    }
    gate.open(1)
  })

  test('are what is counted, not chunks', async () => {
    verifies('opencall:137')
    const clock = createStepClock()
    const list = operation('v1:rows.list', { chunked: { mimeType: 'text/csv' }, run: () => ['1,2\n'] })
    const site = await startSite({ operations: [list], clock })
    await site.call('v1:rows.list', {}, { requestId: 'list-1' })
    await site.ended('list-1')

    for (let n = 0; n < 30; n++) expect((await site.request('/ops/list-1/chunks')).status).toBe(200)
  })
})

describe('calls', () => {
  test('of one caller above their rate are 429, and another caller does not notice', async () => {
    verifies('opencall:138')
    const clock = createStepClock()
    const [ada, bob] = [createToken(), createToken()]
    const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
    const auth = { tokens: [token(ada.hash, 'ada'), token(bob.hash, 'bob')] }
    const site = await startSite({ operations: [add], auth, clock, limits: { callsPerSecond: 2, callBurst: 3 } })
    const callAs = (who: { token: string }) =>
      site.call('v1:sums.add', {}, undefined, { headers: { Authorization: `Bearer ${who.token}` } })

    for (let n = 0; n < 3; n++) expect((await callAs(ada)).status).toBe(200)
    const refused = await callAs(ada)
    const other = await callAs(bob)
    clock.advance(500)
    const later = await callAs(ada)

    expect(refused).toMatchObject({ status: 429, body: { retryAfterMs: 500, error: { code: 'RATE_LIMITED' } } })
    expect(other.status).toBe(200)
    expect(later.status).toBe(200)
  })

  test('that are only validated count as well, with a credential or without', async () => {
    const site = await startSite({
      operations: [add],
      clock: createStepClock(),
      limits: { callsPerSecond: 2, callBurst: 3 },
    })
    const validate = () =>
      site.request('/tools/sums_add/validate', { method: 'POST', body: '{}', headers: { Authorization: 'Bearer x' } })

    for (let n = 0; n < 3; n++) expect((await validate()).status).toBe(200)
    const refused = await validate()

    expect(refused.status).toBe(429)
    expect(await refused.json()).toEqual({ error: expect.stringContaining('Too many calls') })
  })

  test('open beyond what one caller may have are 503 until one ends', async () => {
    verifies('opencall:118', 'opencall:138')
    const gate = createGate<number>()
    const wait = operation('v1:jobs.wait', { model: 'async', run: () => gate.pass() })
    const site = await startSite({ operations: [wait], limits: { openCallsPerCaller: 2 } })
    await site.call('v1:jobs.wait', {}, { requestId: 'a' })
    await site.call('v1:jobs.wait', {}, { requestId: 'b' })

    expectBusy(await site.call('v1:jobs.wait', {}, { requestId: 'c' }), 'PANIC_TOO_MANY_OPEN_CALLS')
    gate.open(1)
    await Promise.all([site.ended('a'), site.ended('b')])

    expect((await site.call('v1:jobs.wait', {}, { requestId: 'c' })).status).toBe(202)
    expect((await site.ended('c')).body.result).toBe(1)
  })

  test('wait in a queue that has an end, in the order they came', async () => {
    verifies('opencall:051', 'opencall:118', 'opencall:138')
    const gate = createGate<number>()
    const order: string[] = []
    const wait = operation('v1:jobs.wait', {
      model: 'async',
      run: (_args, ctx) => {
        order.push(ctx.requestId)
        return gate.pass()
      },
    })
    const site = await startSite({ operations: [wait, add], limits: { runningCalls: 2, queuedCalls: 2 } })
    for (const requestId of ['a', 'b', 'c', 'd']) await site.call('v1:jobs.wait', {}, { requestId })
    const queued = await site.poll('d')

    expectBusy(await site.call('v1:jobs.wait', {}, { requestId: 'e' }), 'PANIC_QUEUE_FULL')
    gate.open(1)
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => site.ended(id)))

    expect(queued.body.state).toBe('accepted')
    expect(order).toEqual(['a', 'b', 'c', 'd'])
    expect((await site.call('v1:jobs.wait', {}, { requestId: 'e' })).status).toBe(202)
  })

  test('that come all at once do not slip through together', async () => {
    verifies('opencall:138')
    const gate = createGate<number>()
    const wait = operation('v1:jobs.wait', { model: 'async', run: () => gate.pass() })
    const few = await startSite({ operations: [wait], limits: { openCallsPerCaller: 3 } })
    const short = await startSite({ operations: [wait], limits: { runningCalls: 1, queuedCalls: 2 } })

    for (const { server } of [few, short]) {
      // Directly to the engine, so that all of them arrive before the first is written.
      const calls = Array.from({ length: 30 }, async (_, n) =>
        server.engine.call({ operation: 'v1:jobs.wait', args: {}, media: [], requestId: `r${n}` }, () => ANONYMOUS),
      )
      const settled = await Promise.allSettled(calls)
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    }
    gate.open(1)
  })

  test('that can start at once need no place in the queue, even if it is full', async () => {
    verifies('opencall:138')
    const gate = createGate<number>()
    const wait = operation('v1:jobs.wait', { model: 'async', concurrency: 1, run: () => gate.pass() })
    const keep = operation('v1:notes.keep', { ttlSeconds: 60, run: () => 'kept' })
    const site = await startSite({ operations: [wait, keep], limits: { queuedCalls: 0 } })

    expect((await site.call('v1:jobs.wait', {}, { requestId: 'a' })).status).toBe(202)
    expectBusy(await site.call('v1:jobs.wait', {}, { requestId: 'b' }), 'PANIC_QUEUE_FULL')
    expect((await site.call('v1:notes.keep')).body.result).toBe('kept')
    gate.open(1)
  })

  test('of an operation at its concurrency limit: async calls wait, sync calls are refused', async () => {
    verifies('opencall:051', 'opencall:118')
    const [first, second] = [createGate<number>(), createGate<number>()]
    const gates = [first, second]
    let running = 0
    let most = 0
    const rules = {
      concurrency: 1,
      async run() {
        most = Math.max(most, ++running)
        const value = await gates.shift()?.pass()
        running--
        return value
      },
    }
    const build = operation('v1:jobs.build', { model: 'async', ...rules })
    const ask = operation('v1:jobs.ask', { ...rules, run: () => first.pass() })
    const site = await startSite({ operations: [build, ask] })
    await site.call('v1:jobs.build', {}, { requestId: 'a' })
    await site.call('v1:jobs.build', {}, { requestId: 'b' })
    await first.began
    const waiting = await site.poll('b')
    const asking = site.call('v1:jobs.ask', {}, { timeoutMs: 0 })
    expect((await asking).status).toBe(202)
    const refused = await site.call('v1:jobs.ask')
    first.open(1)
    await second.began
    second.open(2)

    expect(waiting.body.state).toBe('accepted')
    expectBusy(refused, 'PANIC_BUSY')
    expect((await site.ended('a')).body.result).toBe(1)
    expect((await site.ended('b')).body.result).toBe(2)
    expect(most).toBe(1)
  })
})
