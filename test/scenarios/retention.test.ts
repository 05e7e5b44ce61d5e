/** Promises to a caller are kept: disclosed ids can be polled, and given locations can be fetched. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createGate, createStepClock, startSite } from './server.ts'

const HOUR_MS = 3_600_000

test('a call that a poll has shown running can be polled to its end, though its own answer is not retained', async () => {
  const gate = createGate()
  const site = await startSite({ operations: [operation('v1:pay', { sideEffecting: true, run: () => gate.pass() })] })
  const paying = site.call('v1:pay', {}, { requestId: 'p', idempotencyKey: 'k' })
  await gate.began

  const seen = await site.poll('p')
  gate.open('paid')
  await paying

  expect(seen.status).toBe(202)
  expect((await site.poll('p')).body).toMatchObject({ state: 'complete', result: 'paid' })
})

test('so can a call whose repeat was told to poll', async () => {
  const gate = createGate()
  const pay = operation('v1:pay', { sideEffecting: true, run: () => gate.pass() })
  const site = await startSite({ operations: [pay] })
  const paying = site.call('v1:pay', {}, { requestId: 'p', idempotencyKey: 'k' })
  await gate.began

  const repeated = await site.call('v1:pay', {}, { requestId: 'p', idempotencyKey: 'k', timeoutMs: 0 })
  const waiting = site.poll('p', { Prefer: 'wait=20' })
  gate.open('paid')

  expect(repeated.status).toBe(202)
  expect((await paying).body).toMatchObject({ state: 'complete', result: 'paid' })
  expect((await waiting).body).toMatchObject({ state: 'complete', result: 'paid' })
  expect((await site.poll('p')).body).toMatchObject({ state: 'complete', result: 'paid' })
})

test('a canceled sync call is reported as canceled, not as not found', async () => {
  const gate = createGate()
  const pay = operation('v1:pay', {
    sideEffecting: true,
    run: (_args, ctx) => {
      ctx.signal.addEventListener('abort', () => gate.open('stopped'))
      return gate.pass().then(() => ctx.signal.throwIfAborted())
    },
  })
  const site = await startSite({ operations: [pay] })
  const paying = site.call('v1:pay', {}, { requestId: 'p', idempotencyKey: 'k' })
  await gate.began

  const canceled = await site.request('/ops/p', { method: 'DELETE' })

  expect([canceled.status, await canceled.json()]).toMatchObject([200, { state: 'error', error: { code: 'CANCELED' } }])
  expect((await paying).body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
})

test('a file of a late repeat is kept as long as the repeat can be polled', async () => {
  const clock = createStepClock()
  const draw = operation('v1:draw', {
    sideEffecting: true,
    ttlSeconds: 3_600,
    run: (_args, ctx) => ctx.object('<svg/>', { mimeType: 'image/svg+xml' }),
  })
  const site = await startSite({ operations: [draw], clock })
  await site.call('v1:draw', {}, { requestId: 'first', idempotencyKey: 'k' })

  clock.advance(HOUR_MS - 1_000)
  const repeat = await site.call('v1:draw', {}, { requestId: 'late', idempotencyKey: 'k' })
  clock.advance(10_000)

  expect((await site.poll('late')).body.state).toBe('complete')
  expect((await fetch(repeat.body.location?.uri ?? '')).status).toBe(200)
  expect((await site.poll('first')).status).toBe(404)
})

test('a canceled call stays canceled, even if its handler handles the abort', async () => {
  const gate = createGate()
  let runs = 0
  const stubborn = operation('v1:stubborn', {
    model: 'async',
    retry: { attempts: 3, backoffMs: 1 },
    run: (_args, ctx) => {
      runs++
      ctx.signal.addEventListener('abort', () => gate.open('stopped'))
      return gate.pass().then(() => {
        throw new Fault('upstream', 'The connection was cut.')
      })
    },
  })
  const site = await startSite({ operations: [stubborn] })
  await site.call('v1:stubborn', {}, { requestId: 's' })
  await gate.began

  const canceled = await site.request('/ops/s', { method: 'DELETE' })

  expect(await canceled.json()).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  expect(runs).toBe(1)
})

test('a key whose handler never began can be used again', async () => {
  let broken = true
  const pay = operation('v1:pay', { sideEffecting: true, run: () => 'paid' })
  const context = () => {
    if (broken) throw new Error('no connection')
    return {}
  }
  const site = await startSite({ operations: [pay], context })

  const first = await site.call('v1:pay', {}, { requestId: 'a', idempotencyKey: 'k' })
  broken = false
  const second = await site.call('v1:pay', {}, { requestId: 'b', idempotencyKey: 'k' })

  expect(first.status).toBe(500)
  expect(second.body).toMatchObject({ state: 'complete', result: 'paid' })
})

test('closing twice is closing once', async () => {
  const site = await startSite({ operations: [operation('v1:x', { run: () => 1 })] })

  await Promise.all([site.server.close(), site.server.close()])

  await expect(fetch(site.url)).rejects.toThrow()
})
