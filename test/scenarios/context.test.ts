/** The context of a handler: the caller, correlation ids, the application's additions, and other operations. */
import { join } from 'node:path'
import { createToken, operation, operationsWith } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { createStepClock, startSite, temporaryFolder } from './server.ts'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const describeCall = operation('v1:calls.describe', {
  ttlSeconds: 60,
  run: (_args, { requestId, sessionId, parentId, locale, traceparent, attempt }) => ({
    requestId,
    ...(sessionId !== undefined && { sessionId }),
    ...(parentId !== undefined && { parentId }),
    ...(locale !== undefined && { locale }),
    ...(traceparent !== undefined && { traceparent }),
    attempt,
  }),
})

describe('correlation', () => {
  test('session, parent, locale and trace reach the handler; every response has the session', async () => {
    verifies('opencall:032', 'opencall:033', 'opencall:040', 'opencall:041', 'opencall:056')
    const site = await startSite({ operations: [describeCall] })
    const ctx = { requestId: 'r1', sessionId: 'session 7 ✓', parentId: 'p1', locale: 'de-AT', traceparent: TRACE }

    const answer = await site.call('v1:calls.describe', {}, ctx)
    const polled = await site.poll('r1')
    const refused = await site.call('v1:calls.describe', {}, { ...ctx, requestId: 'r2', sessionId: '' })

    expect(answer.body).toMatchObject({ sessionId: 'session 7 ✓', result: { ...ctx, attempt: 1 } })
    expect(polled.body).toEqual(answer.body)
    expect(refused).toMatchObject({ status: 400, body: { requestId: 'r2' } })
  })

  test('a call is stored with its parent: the one that the caller named, or the calling one', async () => {
    verifies('opencall:034')
    const clock = createStepClock()
    const data = temporaryFolder()
    const child = operation('v1:jobs.child', { model: 'async', run: (_args, ctx) => ctx.requestId })
    const outer = operation('v1:jobs.outer', { model: 'async', run: (_args, ctx) => ctx.call(child, {}) })
    const site = await startSite({ operations: [child, outer], data, clock })
    await site.call('v1:jobs.child', {}, { requestId: 'alone' })
    await site.call('v1:jobs.outer', {}, { requestId: 'outer', parentId: 'a call of another system' })
    await site.ended('alone')
    const childId = String((await site.ended('outer')).body.result)
    await site.close()

    const store = createSqliteStore({ file: join(data, 'callplane.db'), clock })
    onTestFinished(() => store.close())
    const stored = (requestId: string) => store.find('main', 'none|anonymous', requestId)

    expect(await stored('outer')).toMatchObject({ parentId: 'a call of another system' })
    expect(await stored(childId)).toMatchObject({ parentId: 'outer', operation: 'v1:jobs.child@1.0.0' })
    expect(await stored('alone')).not.toHaveProperty('parentId')
  })

  test('fields that were not sent are absent, a trace header is used, and a bad trace or an unknown locale is no error', async () => {
    verifies('opencall:029', 'opencall:030', 'opencall:040', 'opencall:041', 'opencall:056')
    const site = await startSite({ operations: [describeCall] })

    const bare = await site.call('v1:calls.describe')
    const traced = await site.call('v1:calls.describe', {}, undefined, { headers: { traceparent: TRACE } })
    const odd = await site.call('v1:calls.describe', {}, { locale: 'xx-none', traceparent: 'nonsense' })

    expect(bare.body).not.toHaveProperty('sessionId')
    expect(bare.body.result).toEqual({ requestId: bare.body.requestId, attempt: 1 })
    expect(bare.body.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(traced.body.result).toMatchObject({ traceparent: TRACE })
    expect(odd.status).toBe(200)
    expect(odd.body.result).toMatchObject({ locale: 'xx-none' })
    expect(odd.body.result).not.toHaveProperty('traceparent')
  })

  test('a handler’s log lines say which call they belong to', async () => {
    const lines: LogLine[] = []
    const talk = operation('v1:calls.talk', { run: (_args, ctx) => ctx.log.info({ cups: 2 }, 'tea is ready') })
    const site = await startSite({ operations: [talk], log: createMemoryLog(lines) })

    const { body } = await site.call('v1:calls.talk', {}, { requestId: 'talk-1' })

    // Nothing returned is a result all the same.
    expect(body).toEqual({ requestId: 'talk-1', state: 'complete', result: null })
    expect(lines).toContainEqual({
      level: 'info',
      message: 'tea is ready',
      fields: { operation: 'v1:calls.talk@1.0.0', requestId: 'talk-1', attempt: 1, cups: 2 },
    })
  })
})

describe('injected values', () => {
  interface App {
    db: { find: (id: string) => string }
  }
  const find = operationsWith<App>()('v1:rows.find', {
    args: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    run: ({ id }, ctx) => ctx.db.find(String(id)),
  })

  test('is an object for all calls, or made for each', async () => {
    const fixed = await startSite<App>({ operations: [find], context: { db: { find: (id) => `row ${id}` } } })
    const made = await startSite<App>({
      operations: [find],
      context: async ({ caller, requestId }) => ({
        db: { find: (id) => `row ${id} for ${caller.subject} in ${requestId}` },
      }),
    })

    expect((await fixed.call('v1:rows.find', { id: '7' })).body.result).toBe('row 7')
    expect((await made.call('v1:rows.find', { id: '7' }, { requestId: 'r1' })).body.result).toBe(
      'row 7 for anonymous in r1',
    )
  })

  test('cannot take the place of what every context has: at start, or as a failure of the server at the call', async () => {
    verifies('opencall:116', 'opencall:133')
    const taken = { caller: { subject: 'root' }, db: { find: () => '' } }
    await expect(startSite<App>({ operations: [find], context: taken })).rejects.toThrow(/cannot have "caller"/)
    const lines: LogLine[] = []
    const site = await startSite<App>({ operations: [find], context: () => taken, log: createMemoryLog(lines) })

    const { status, body } = await site.call('v1:rows.find', { id: '7' })

    expect(status).toBe(500)
    expect(body.error?.code).toBe('PANIC_INTERNAL')
    expect(lines.some(({ fields }) => String(fields.err).includes('cannot have "caller"'))).toBe(true)
  })
})

describe('an operation that calls another', () => {
  test('has the same caller, session, locale and trace, and is the parent', async () => {
    verifies('opencall:033', 'opencall:041')
    const outer = operation('v1:calls.outer', {
      run: async (_args, ctx) => ({ parent: ctx.requestId, child: await ctx.call('v1:calls.describe', {}) }),
    })
    const site = await startSite({ operations: [describeCall, outer] })
    const ctx = { requestId: 'outer-1', sessionId: 's1', locale: 'de', traceparent: TRACE }

    const { body } = await site.call('v1:calls.outer', {}, ctx)

    expect(body.result).toMatchObject({
      parent: 'outer-1',
      child: { sessionId: 's1', parentId: 'outer-1', locale: 'de', traceparent: TRACE, attempt: 1 },
    })
    expect((body.result as { child: { requestId: string } }).child.requestId).not.toBe('outer-1')
  })

  test('runs it once, however often it is itself tried, and a second child call is another one', async () => {
    verifies('opencall:037')
    const clock = createStepClock()
    const paid: unknown[] = []
    const pay = operation('v1:till.pay', { sideEffecting: true, run: ({ amount }) => paid.push(amount ?? null) })
    const order = operation('v1:shop.order', {
      model: 'async',
      retry: { attempts: 2, backoffMs: 200 },
      async run(_args, ctx) {
        const first = await ctx.call(pay, { amount: 5 })
        const second = await ctx.call<number>('v1:till.pay', { amount: 5 })
        return ctx.attempt === 1 ? ctx.fail('LATE', 'Too late.', { retryable: true }) : [first, second]
      },
    })
    const site = await startSite({ operations: [pay, order], clock })

    await site.call('v1:shop.order', {}, { requestId: 'order-1' })
    await clock.timer(200)
    clock.advance(200)

    expect((await site.ended('order-1')).body.result).toEqual([1, 2])
    expect(paid).toEqual([5, 5])
  })

  test('waits for an async call, and gets its failure unchanged', async () => {
    verifies('opencall:128')
    const build = operation('v1:jobs.build', {
      model: 'async',
      run: ({ broken }, ctx) => (broken ? ctx.fail('BROKEN', 'It is broken.') : 'built'),
    })
    const outer = operation('v1:jobs.outer', { run: (args, ctx) => ctx.call('v1:jobs.build', args) })
    const site = await startSite({ operations: [build, outer] })

    expect((await site.call('v1:jobs.outer')).body.result).toBe('built')
    expect(await site.call('v1:jobs.outer', { broken: true })).toMatchObject({
      status: 200,
      body: { state: 'error', error: { code: 'BROKEN' } },
    })
  })

  test('can do no more than its caller may', async () => {
    verifies('opencall:240')
    const { token, hash } = createToken()
    const secret = operation('v1:vault.open', { scopes: ['vault'], run: () => 'gold' })
    const outer = operation('v1:vault.ask', { run: (_args, ctx) => ctx.call('v1:vault.open', {}) })
    const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: [] }] }
    const site = await startSite({ operations: [secret, outer], auth })

    const { body } = await site.call('v1:vault.ask', {}, undefined, { headers: { Authorization: `Bearer ${token}` } })

    expect(body).toMatchObject({ state: 'error', error: { code: 'INSUFFICIENT_SCOPE' } })
  })

  test('does not go down for ever', async () => {
    verifies('opencall:116')
    let depth = 0
    const fall = operation('v1:holes.fall', {
      run: (_args, ctx) => {
        depth++
        return ctx.call('v1:holes.fall', {})
      },
    })
    const site = await startSite({ operations: [fall] })

    const { status, body } = await site.call('v1:holes.fall')

    expect(status).toBe(500)
    expect(body.error).toMatchObject({ code: 'PANIC_CALL_TOO_DEEP', message: expect.stringContaining('v1:holes.fall') })
    expect(depth).toBeLessThanOrEqual(17)
  })

  test('does not wait for the room it takes itself', async () => {
    const inner = operation('v1:rooms.inner', { sideEffecting: true, concurrency: 1, run: () => 'in' })
    const outer = operation('v1:rooms.outer', { model: 'async', run: (_args, ctx) => ctx.call('v1:rooms.inner', {}) })
    const site = await startSite({ operations: [inner, outer], limits: { runningCalls: 1, openCallsPerCaller: 1 } })

    await site.call('v1:rooms.outer', {}, { requestId: 'outer-1' })

    expect((await site.ended('outer-1')).body.result).toBe('in')
  })
})
