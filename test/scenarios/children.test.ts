/** Handlers that call other operations: they never wait for a slot that they hold themselves, and stop together. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createGate, startSite } from './server.ts'

const WAIT = { headers: { Prefer: 'wait=20' } }

test('a child that is tried again gets its turn although its parents hold every slot', async () => {
  let tries = 0
  const flaky = operation('v1:flaky', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    run: () => {
      if (++tries === 1) throw new Fault('upstream', 'Not yet.')
      return 'at last'
    },
  })
  const parent = operation('v1:parent', { model: 'async', run: (_args, ctx) => ctx.call('v1:flaky', {}) })
  const site = await startSite({ operations: [flaky, parent], limits: { runningCalls: 1 } })

  const { body } = await site.call('v1:parent', {}, undefined, WAIT)

  expect(body).toMatchObject({ state: 'complete', result: 'at last' })
})

test('parents and children that a restart cut off find their way again with one slot', async () => {
  const gate = createGate()
  const child = operation('v1:child', {
    model: 'async',
    run: (_args, ctx) => {
      const stopped = new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      return Promise.race([gate.pass(), stopped])
    },
  })
  const parent = operation('v1:parent', { model: 'async', run: (_args, ctx) => ctx.call('v1:child', {}) })
  const first = await startSite({ operations: [child, parent], limits: { runningCalls: 1 } })
  await first.call('v1:parent', {}, { requestId: 'p' })
  await gate.began
  await first.close(0)

  gate.open('done')
  const second = await startSite({ operations: [child, parent], limits: { runningCalls: 1 }, data: first.data })

  expect((await second.ended('p')).body).toMatchObject({ state: 'complete', result: 'done' })
})

test('a parent that is canceled takes its child with it', async () => {
  const gate = createGate()
  let stopped: unknown
  const child = operation('v1:child', {
    model: 'async',
    run: (_args, ctx) => {
      ctx.signal.addEventListener('abort', () => {
        stopped = ctx.signal.reason
        gate.open('stopped')
      })
      return gate.pass()
    },
  })
  const parent = operation('v1:parent', { model: 'async', run: (_args, ctx) => ctx.call('v1:child', {}) })
  const site = await startSite({ operations: [child, parent] })
  await site.call('v1:parent', {}, { requestId: 'p' })
  await gate.began

  await site.request('/ops/p', { method: 'DELETE' })

  expect((await site.ended('p')).body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  await expect.poll(() => stopped).toMatchObject({ kind: 'canceled' })
})

test('a parent that was cut off by a restart still takes its child with it when it is canceled', async () => {
  const gates = [createGate(), createGate()]
  const reasons: unknown[] = []
  let runs = 0
  const child = operation('v1:child', {
    model: 'async',
    run: (_args, ctx) => {
      const gate = gates[Math.min(runs++, 1)] as ReturnType<typeof createGate>
      ctx.signal.addEventListener('abort', () => {
        reasons.push(ctx.signal.reason)
        gate.fail(new Error('stopped'))
      })
      return gate.pass()
    },
  })
  const parents = [createGate(), createGate()]
  const parent = operation('v1:parent', {
    model: 'async',
    run: (_args, ctx) => {
      parents[ctx.attempt - 1]?.pass()
      return ctx.call('v1:child', {})
    },
  })
  const write = operation('v1:write', { model: 'async', run: () => 1 })
  const operations = [child, parent, write]
  const first = await startSite({ operations })
  await first.call('v1:parent', {}, { requestId: 'p' })
  await gates[0]?.began
  await first.close(0)
  const second = await startSite({ operations, data: first.data })
  await Promise.all([gates[1]?.began, parents[1]?.began])
  // Joining takes two commits; each of these calls waits for two more.
  for (let commits = 0; commits < 2; commits++) await second.call('v1:write', {}, undefined, WAIT)

  await second.request('/ops/p', { method: 'DELETE' })

  expect((await second.ended('p')).body).toMatchObject({ error: { code: 'CANCELED' } })
  await expect.poll(() => reasons.at(-1)).toMatchObject({ kind: 'canceled' })
})

test('arguments of a child are what a wire would carry: two dates are two calls', async () => {
  const echo = operation('v1:echo', { cache: { policy: 'server', ttlSeconds: 60 }, run: ({ at }) => at })
  const parent = operation('v1:parent', {
    run: async (_args, ctx) => [
      await ctx.call('v1:echo', { at: new Date(0) }),
      await ctx.call('v1:echo', { at: new Date(1) }),
    ],
  })
  const site = await startSite({ operations: [echo, parent] })

  const { body } = await site.call('v1:parent')

  expect(body.result).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.001Z'])
})
