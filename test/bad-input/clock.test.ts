/** A clock that is set back while calls are under way: nothing is forgotten, run twice or kept waiting for the hour. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/server/environment.ts'
import { type Envelope, startServer } from './server.ts'

const HOUR_MS = 3_600_000

/** The system's clock, as an administrator might set it. */
function adjustableClock() {
  let offset = 0
  return {
    now: () => systemClock.now() + offset,
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

test('a call that runs while the clock goes back is run once and ends, and so is the one that waits behind it', async () => {
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
