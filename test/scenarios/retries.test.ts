/** A failed attempt is retried later, and only if a retry makes sense. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { createStepClock, type StepClock, startSite, temporaryFolder } from './server.ts'

interface Seen {
  attempt: number
  key: string
  atMs: number
}

/** Fails with `fault` until its attempt is `succeedAt`, and says when it was tried. */
function createFlaky(clock: StepClock, rules: object, succeedAt: number, fault = () => new Fault('upstream', 'Down.')) {
  const seen: Seen[] = []
  const startedAt = clock.now()
  const flaky = operation('v1:net.fetch', {
    ...rules,
    run: (_args, ctx) => {
      seen.push({ attempt: ctx.attempt, key: ctx.key, atMs: clock.now() - startedAt })
      if (ctx.attempt < succeedAt) throw fault()
      return 'fetched'
    },
  })
  return { flaky, seen }
}

test('an async call is tried again after a back-off that doubles, with one key for all attempts', async () => {
  verifies('opencall:290')
  const clock = createStepClock()
  const { flaky, seen } = createFlaky(clock, { model: 'async', retry: { attempts: 3, backoffMs: 200 } }, 3)
  const site = await startSite({ operations: [flaky], clock })

  await site.call('v1:net.fetch', {}, { requestId: 'fetch-1' })
  await clock.timer(200)
  const between = await site.poll('fetch-1')
  clock.advance(200)
  await clock.timer(400)
  clock.advance(400)
  const ended = await site.ended('fetch-1')

  expect(between.body.state).toBe('pending')
  expect(ended.body.result).toBe('fetched')
  expect(seen.map(({ attempt, atMs }) => [attempt, atMs])).toEqual([
    [1, 0],
    [2, 200],
    [3, 600],
  ])
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
})

test('the last attempt’s failure is the call’s', async () => {
  const clock = createStepClock()
  const { flaky, seen } = createFlaky(clock, { model: 'async', retry: { attempts: 2, backoffMs: 200 } }, 99)
  const site = await startSite({ operations: [flaky], clock })

  await site.call('v1:net.fetch', {}, { requestId: 'fetch-1' })
  await clock.timer(200)
  clock.advance(200)
  const ended = await site.ended('fetch-1')

  expect(ended.body).toMatchObject({ state: 'error', error: { code: 'PANIC_UPSTREAM' } })
  expect(seen).toHaveLength(2)
})

test('a failure that would only happen again is not tried again', async () => {
  const clock = createStepClock()
  const refuse = () => new Fault('domain', 'No.', { code: 'NO' })
  const { flaky, seen } = createFlaky(clock, { model: 'async', retry: { attempts: 3, backoffMs: 200 } }, 99, refuse)
  const site = await startSite({ operations: [flaky], clock })

  await site.call('v1:net.fetch', {}, { requestId: 'fetch-1' })

  expect((await site.ended('fetch-1')).body).toMatchObject({ state: 'error', error: { code: 'NO' } })
  expect(seen).toHaveLength(1)
})

test('the time a failure asks for is waited for', async () => {
  const clock = createStepClock()
  const busy = () => new Fault('unavailable', 'Busy.', { retryAfterMs: 3_000 })
  const { flaky, seen } = createFlaky(clock, { model: 'async', retry: { attempts: 2, backoffMs: 200 } }, 2, busy)
  const site = await startSite({ operations: [flaky], clock })

  await site.call('v1:net.fetch', {}, { requestId: 'fetch-1' })
  await clock.timer(3_000)
  clock.advance(3_000)

  expect((await site.ended('fetch-1')).body.result).toBe('fetched')
  expect(seen.map(({ atMs }) => atMs)).toEqual([0, 3_000])
})

test('a restart during the back-off changes nothing: the next server makes the next attempt', async () => {
  verifies('opencall:294')
  const clock = createStepClock()
  const data = temporaryFolder()
  const rules = { model: 'async' as const, retry: { attempts: 2, backoffMs: 2_000 } }
  const { flaky, seen } = createFlaky(clock, rules, 2)
  const before = await startSite({ operations: [flaky], clock, data })
  await before.call('v1:net.fetch', {}, { requestId: 'fetch-1' })
  await clock.timer(2_000)
  await before.close()

  clock.advance(1_500)
  const after = await startSite({ operations: [flaky], clock, data })
  await clock.timer(500)
  clock.advance(500)
  const ended = await after.ended('fetch-1')

  expect(ended.body).toMatchObject({ requestId: 'fetch-1', state: 'complete', result: 'fetched' })
  expect(seen.map(({ attempt, atMs }) => [attempt, atMs])).toEqual([
    [1, 0],
    [2, 2_000],
  ])
  expect(seen[1]?.key).toBe(seen[0]?.key)
})

test('a sync call is tried again while its caller waits, and in the background after that', async () => {
  verifies('opencall:095')
  const clock = createStepClock()
  const { flaky, seen } = createFlaky(clock, { maxSyncMs: 1_000, retry: { attempts: 3, backoffMs: 600 } }, 3)
  const site = await startSite({ operations: [flaky], clock })

  const calling = site.call('v1:net.fetch', {}, { requestId: 'fetch-1' })
  await clock.timer(600)
  clock.advance(600)
  const answer = await calling
  await clock.timer(1_200)
  clock.advance(1_200)
  const ended = await site.ended('fetch-1')

  expect(answer).toMatchObject({ status: 202, body: { state: 'pending' } })
  expect(ended.body.result).toBe('fetched')
  expect(seen.map(({ attempt, atMs }) => [attempt, atMs])).toEqual([
    [1, 0],
    [2, 600],
    [3, 1_800],
  ])
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
})
