/** The errors that a caller gets when a call fails, and the details that they do not contain. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, type HandlerContext, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { createStepClock, startSite } from './server.ts'

describe('business failures', () => {
  const rules = {
    run: (_args: unknown, ctx: HandlerContext) =>
      ctx.fail('OUT_OF_STOCK', 'There are none left.', { details: { sku: 'A7' } }),
  }

  test('are 200 for a sync operation, 202 for an async one that fails at once, 200 when polled', async () => {
    verifies('opencall:055', 'opencall:125', 'opencall:126', 'opencall:127', 'opencall:128', 'opencall:212')
    const site = await startSite({
      operations: [operation('v1:shop.buy', rules), operation('v1:shop.order', { model: 'async', ...rules })],
    })

    const sync = await site.call('v1:shop.buy')
    const atOnce = await site.call('v1:shop.order', {}, { requestId: 'o-1' }, { headers: { Prefer: 'wait=30' } })
    const polled = await site.poll('o-1')

    expect([sync.status, atOnce.status, polled.status]).toEqual([200, 202, 200])
    for (const { body } of [sync, atOnce, polled]) {
      expect(body).toEqual({
        requestId: expect.any(String),
        state: 'error',
        error: { code: 'OUT_OF_STOCK', message: 'There are none left.', cause: { sku: 'A7' } },
      })
    }
  })

  test('never use a 4xx, for any kind of fault that the handler throws', async () => {
    verifies('opencall:127', 'opencall:128')
    const find = operation('v1:shop.find', {
      run: () => {
        throw new Fault('not-found', 'There is no such article.', { code: 'NO_SUCH_ARTICLE' })
      },
    })
    const site = await startSite({ operations: [find] })

    expect(await site.call('v1:shop.find')).toMatchObject({
      status: 200,
      body: { state: 'error', error: { code: 'NO_SUCH_ARTICLE' } },
    })
  })
})

describe('declared errors', () => {
  const errors = {
    OUT_OF_STOCK: { description: 'There are none left.', remedy: 'Order fewer.', retryable: true },
    NO_SUCH_ARTICLE: { description: 'Nothing has this number.' },
  }
  const failing = (code: string, retryable?: boolean) =>
    operation(`v1:shop.${code}`, {
      errors,
      run: (_args, ctx) => ctx.fail(code, 'No.', retryable === undefined ? {} : { retryable }),
    })

  test('are in the registry, and only for operations that declare them', async () => {
    const site = await startSite({
      operations: [failing('OUT_OF_STOCK'), operation('v1:shop.list', { run: () => [] })],
    })

    const { operations } = (await (await site.request('/.well-known/ops')).json()) as { operations: object[] }

    expect(operations[0]).toMatchObject({
      errors: {
        OUT_OF_STOCK: { description: 'There are none left.', remedy: 'Order fewer.', retryable: true },
        NO_SUCH_ARTICLE: { description: 'Nothing has this number.', retryable: false },
      },
    })
    expect(operations[1]).not.toHaveProperty('errors')
  })

  test('set whether a failure is retryable; ctx.fail can say otherwise, and other codes stay allowed', async () => {
    const codes = ['OUT_OF_STOCK', 'NO_SUCH_ARTICLE', 'ANOTHER', 'toString']
    const site = await startSite({ operations: codes.map((code) => failing(code)) })
    const other = await startSite({ operations: [failing('OUT_OF_STOCK', false)] })

    const replies = await Promise.all(codes.map((code) => site.call(`v1:shop.${code}`)))
    const overridden = await other.call('v1:shop.OUT_OF_STOCK')

    expect(replies.map(({ body }) => [body.error?.code, body.error?.cause?.retryable])).toEqual([
      ['OUT_OF_STOCK', true],
      ['NO_SUCH_ARTICLE', undefined],
      ['ANOTHER', undefined],
      ['toString', undefined],
    ])
    expect(overridden.body.error?.cause).toBeUndefined()
  })

  test.each<[Record<string, { description: string }>, RegExp]>([
    [{ 'no spaces': { description: 'x' } }, /"no spaces" needs a letter/],
    [{ PANIC_INTERNAL: { description: 'x' } }, /"PANIC_INTERNAL" needs .* no PANIC_/],
    [{ EMPTY: { description: ' ' } }, /the error EMPTY needs a description/],
  ])('with a bad code or no meaning are refused at start: %j', async (bad, message) => {
    await expect(startSite({ operations: [operation('v1:a', { errors: bad, run: () => 1 })] })).rejects.toThrow(message)
  })
})

describe('system failures', () => {
  test('an error the handler did not expect is 500 with a code, and its text stays in the log', async () => {
    verifies('opencall:116', 'opencall:133', 'opencall:139', 'opencall:214')
    const lines: LogLine[] = []
    const thrown: unknown[] = [new Error('postgres://app:hunter22@db/orders refused'), 'a text', undefined, null, {}]
    let next = 0
    const crash = operation('v1:shop.crash', {
      run: () => {
        throw thrown[next++]
      },
    })
    const site = await startSite({ operations: [crash], log: createMemoryLog(lines) })

    for (const _each of thrown) {
      const { status, body } = await site.call('v1:shop.crash', {}, { requestId: `crash-${next}` })
      expect(status).toBe(500)
      expect(body).toMatchObject({ requestId: `crash-${next - 1}`, state: 'error', error: { code: 'PANIC_INTERNAL' } })
      expect(body.error?.message).toMatch(/\w+ .*\w+/)
      expect(JSON.stringify(body)).not.toContain('hunter22')
    }
    const errors = lines.filter(({ level }) => level === 'error')
    expect(errors).toHaveLength(thrown.length)
    expect(JSON.stringify(lines.filter(({ level }) => level !== 'error'))).not.toContain('hunter22')
    expect(errors[0]).toMatchObject({
      fields: { operation: 'v1:shop.crash@1.0.0', requestId: 'crash-0', err: thrown[0] },
    })
  })

  test('a failed dependency is 502, an unavailable service 503 with a retry time', async () => {
    verifies('opencall:117', 'opencall:118', 'opencall:214')
    const details = { service: 'stock' }
    const upstream = operation('v1:shop.stock', {
      run: () => {
        throw new Fault('upstream', 'The stock service did not answer.', { details })
      },
    })
    const unavailable = operation('v1:shop.price', {
      run: () => {
        throw new Fault('unavailable', 'Prices are being changed.', { retryAfterMs: 1_500 })
      },
    })
    const site = await startSite({ operations: [upstream, unavailable] })

    const first = await site.call('v1:shop.stock')
    const second = await site.call('v1:shop.price')

    expect(first).toMatchObject({ status: 502, body: { error: { code: 'PANIC_UPSTREAM', cause: details } } })
    expect(second).toMatchObject({ status: 503, body: { retryAfterMs: 1_500, error: { code: 'PANIC_UNAVAILABLE' } } })
    expect(second.headers.get('Retry-After')).toBe('2')
  })

  test.each(['upstream', 'unavailable', 'timeout', 'internal', 'overloaded', 'isolation-unavailable'] as const)(
    'a code that a handler gives to a failure of kind %s stays as it is, also when it is stored and when a caller passes it on',
    async (kind) => {
      const failing = operation('v1:shop.fail', {
        model: 'async',
        run: () => {
          throw new Fault(kind, 'The till is stuck.', { code: 'TILL_STUCK', retryable: false })
        },
      })
      const calling = operation('v1:shop.pay', { run: (_, ctx) => ctx.call('v1:shop.fail', {}) })
      const site = await startSite({ operations: [failing, calling] })

      await site.call('v1:shop.fail', {}, { requestId: 'fail-1' })
      const stored = await site.ended('fail-1')
      const direct = await site.call('v1:shop.pay')

      expect(stored.body.error?.code).toBe('TILL_STUCK')
      expect(direct.body.error?.code).toBe('TILL_STUCK')
      expect(direct.status).toBeGreaterThanOrEqual(500)
    },
  )

  test('an attempt past its limit is aborted and ends as a time-out, even if it ignores its signal', async () => {
    verifies('opencall:116', 'opencall:214')
    const clock = createStepClock()
    const deaf = operation('v1:shop.deaf', { timeoutMs: 1_000, maxSyncMs: 60_000, run: () => new Promise(() => {}) })
    const site = await startSite({ operations: [deaf], clock })

    const answer = await clock.passing(site.call('v1:shop.deaf'), 500)

    expect(answer).toMatchObject({
      status: 500,
      body: { state: 'error', error: { code: 'PANIC_TIMEOUT', cause: { timeoutMs: 1_000 } } },
    })
  })

  test('a result that breaks its schema, or is not JSON, is not sent', async () => {
    verifies('opencall:116', 'opencall:133')
    const wrong = operation('v1:shop.wrong', { result: { type: 'number' }, run: () => 'a secret result' as never })
    const odd = operation('v1:shop.odd', { run: () => ({ count: 12n }) })
    const site = await startSite({ operations: [wrong, odd] })

    for (const op of ['v1:shop.wrong', 'v1:shop.odd']) {
      const { status, body } = await site.call(op)
      expect(status).toBe(500)
      expect(body.state).toBe('error')
      expect(body.error?.code).toMatch(/^PANIC_/)
      expect(JSON.stringify(body)).not.toContain('a secret result')
    }
  })

  test('the failure of an async call is found by polling, with the same code', async () => {
    verifies('opencall:097', 'opencall:133')
    const crash = operation('v1:shop.crash', {
      model: 'async',
      run: () => {
        throw new Error('hunter22')
      },
    })
    const site = await startSite({ operations: [crash] })

    await site.call('v1:shop.crash', {}, { requestId: 'crash-1' })
    const ended = await site.ended('crash-1')

    expect(ended).toMatchObject({ status: 200, body: { state: 'error', error: { code: 'PANIC_INTERNAL' } } })
    expect(JSON.stringify(ended.body)).not.toContain('hunter22')
  })
})

describe('protocol failures', () => {
  test('a 400 says what is wrong in the canonical envelope', async () => {
    verifies('opencall:109', 'opencall:129', 'opencall:130')
    const add = operation('v1:sums.add', {
      args: { type: 'object', required: ['a'], properties: { a: { type: 'number' } } },
      run: () => 0,
    })
    const site = await startSite({ operations: [add] })

    const named = await site.call('v1:sums.add', { a: 'x' }, { requestId: 'sum-1' })
    const unnamed = await site.call('v1:sums.add', {})

    expect(named).toMatchObject({ status: 400, body: { requestId: 'sum-1', error: { code: 'VALIDATION_ERROR' } } })
    expect(JSON.stringify(named.body.error)).toContain('/a')
    expect(unnamed.status).toBe(400)
    expect(unnamed.body.requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })
})

test('the message of an exception is in no stored record, even if a caller sees it', async () => {
  const boom = operation('v1:boom', {
    sideEffecting: true,
    idempotencyRequired: false,
    run: () => {
      throw new Error('postgres://app:hunter2-in-a-dsn@db')
    },
  })
  const site = await startSite({ operations: [boom], rest: { allowExecute: true } })

  const shown = await site.request('/tools/callplane_boom/call', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  })
  const told = await site.call('v1:boom')
  await site.close()

  expect(JSON.stringify(await shown.json())).toContain('hunter2')
  expect(JSON.stringify(told.body)).not.toContain('hunter2')
  const files = readdirSync(site.data).filter((name) => name.startsWith('callplane.db'))
  for (const name of files) expect(readFileSync(join(site.data, name)).includes('hunter2')).toBe(false)
})
