/** The wall clock is set while calls are open: no call is lost, run twice, cut off early or delayed by an hour. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/server/build/environment.ts'
import { createStepClock } from '../scenarios/server.ts'
import { type Envelope, startServer } from './server.ts'

const HOUR_MS = 3_600_000

/** The system's clock, as an administrator might set it. */
function adjustableClock() {
  let offset = 0
  return {
    now: () => systemClock.now() + offset,
    monotonicMs: systemClock.monotonicMs,
    schedule: systemClock.schedule,
    set: (ms: number) => {
      offset = ms
    },
  }
}

test('after the clock went back an hour, earlier calls are still there and later ones expire by the new time', async () => {
  const clock = adjustableClock()
  const server = await startServer({ clock })
  const call = async (requestId: string, more: object = {}) => {
    const envelope = { op: 'v1:Jobs.Run', args: { text: 'x' }, ctx: { requestId, ...more } }
    return (await (await server.call(envelope, { Prefer: 'wait=5' })).json()) as Envelope & { expiresAt: number }
  }
  const before = await call('before', { idempotencyKey: 'k' })

  clock.set(-HOUR_MS)

  const polled = await (await fetch(`${server.url}/ops/before`)).json()
  const replayed = await call('replay', { idempotencyKey: 'k' })
  const after = await call('after')
  expect(polled).toEqual(before)
  expect(replayed).toMatchObject({ state: 'complete', result: 'x' })
  expect(after).toMatchObject({ state: 'complete', result: 'x' })
  const earlier = before.expiresAt - after.expiresAt
  expect(earlier).toBeGreaterThanOrEqual(3_590)
  expect(earlier).toBeLessThanOrEqual(3_600)
})

test('a call that runs while the clock is set back runs once and ends, and so does the call queued behind it', async () => {
  const clock = adjustableClock()
  const release = Promise.withResolvers<void>()
  const started: number[] = []
  const slow = operation('v1:Jobs.Slow', {
    args: z.object({ number: z.int() }),
    result: z.int(),
    model: 'async',
    concurrency: 1,
    async run({ number }) {
      started.push(number)
      await release.promise
      return number
    },
  })
  const server = await startServer({ clock, operations: [slow], work: { leaseMs: 200, claimEveryMs: 50 } })
  const call = (number: number) =>
    server.call({ op: 'v1:Jobs.Slow', args: { number }, ctx: { requestId: `r-${number}` } })
  await call(1)
  await call(2)
  await expect.poll(() => started).toEqual([1])

  clock.set(-HOUR_MS)
  release.resolve()

  for (const number of [1, 2]) {
    const response = await fetch(`${server.url}/ops/r-${number}`, { headers: { Prefer: 'wait=3' } })
    expect(await response.json()).toMatchObject({ state: 'complete', result: number })
  }
  expect(started).toEqual([1, 2])
})

test.each([-HOUR_MS, HOUR_MS])(
  'a caller at its rate limit waits for the stated time, with the clock set by %i ms',
  async (setMs) => {
    const clock = createStepClock()
    const server = await startServer({ clock, limits: { callsPerSecond: 1, callBurst: 1, pollBurst: 1 } })
    const call = (requestId: string) => server.call({ op: 'v1:Jobs.Run', args: { text: 'x' }, ctx: { requestId } })
    const statuses = async (requestId: string) => {
      const called = await call(requestId)
      return [called.status, (await fetch(`${server.url}/ops/first`)).status === 429]
    }
    expect((await call('first')).status).toBe(202)
    expect(await statuses('second')).toEqual([429, false])

    clock.set(setMs)

    expect(await statuses('second')).toEqual([429, true])
    clock.advance(1_000)
    expect(await statuses('second')).toEqual([202, false])
  },
)

test('the clock set forward cuts off no attempt and no wait for its result', async () => {
  const clock = createStepClock()
  const gate = Promise.withResolvers<number>()
  const signals: AbortSignal[] = []
  const slow = operation('v1:Jobs.Limited', {
    result: z.int(),
    timeoutMs: 60_000,
    deadlineMs: 90_000,
    maxSyncMs: 30_000,
    retry: { attempts: 2, backoffMs: 100 },
    async run(_args, ctx) {
      signals.push(ctx.signal)
      if (ctx.attempt > 1) return gate.promise
      clock.set(HOUR_MS)
      return ctx.fail('LATER', 'Later.', { retryable: true })
    },
  })
  const server = await startServer({ clock, operations: [slow] })

  const answer = server.call({ op: 'v1:Jobs.Limited', args: {} })
  await clock.timer(100)
  clock.advance(100)
  await expect.poll(() => signals.length).toBe(2)
  clock.advance(29_000)
  gate.resolve(7)

  expect(await (await answer).json()).toMatchObject({ state: 'complete', result: 7 })
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
})
