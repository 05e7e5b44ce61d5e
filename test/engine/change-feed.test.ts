/** The feed of changes under load: what it costs, and what it says if it could not keep all of them. */
import { expect, test } from 'vitest'
import type { Noted } from '../../src/engine/changes/change.ts'
import { ChangeFeed } from '../../src/engine/changes/change-feed.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'

const noted = (tenant: string, id: string): Noted => ({
  ...{ kind: 'call', tenant, id, operation: 'v1:shop.pay@1.0.0', state: 'pending', at: 1, owner: 'ada', createdAt: 1 },
})

function openFeed() {
  const clock = createManualClock()
  let timers = 0
  const feed = new ChangeFeed({
    clock: {
      ...clock,
      schedule(delayMs, run) {
        timers++
        return clock.schedule(delayMs, run)
      },
    },
    store: { listen: () => () => {} },
    approvals: { listen: () => () => {} },
    node: 'here',
  })
  const wait = (after?: string, waitMs = 20_000, tenant = 'main', passes: (noted: Noted) => boolean = () => true) =>
    feed.wait({
      tenant,
      passes,
      waitMs,
      signal: new AbortController().signal,
      ...(after !== undefined && { after }),
    })
  return { clock, feed, wait, timers: () => timers }
}

/** Until the request waits. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an operator who waits is woken once, however many changes come', async () => {
  const { clock, feed, wait, timers } = openFeed()
  const waiting = wait()
  await settled()
  const before = timers()

  for (let n = 0; n < 1_000; n++) feed.note(noted('main', `id-${n}`))
  expect(timers() - before).toBe(1)
  clock.advance(1_000)

  expect((await waiting).events).toHaveLength(200)
})

test('if other changes displace those that an operator waits for, it is told to look again', async () => {
  const { clock, feed, wait } = openFeed()
  const waiting = wait(undefined, 20_000, 'main', ({ id }) => id === 'mine')
  await settled()

  feed.note(noted('main', 'mine'))
  for (let n = 0; n < 10_000; n++) feed.note(noted('main', `id-${n}`))
  clock.advance(1_000)
  const heard = await waiting

  expect(heard).toMatchObject({ events: [], reset: true })
  feed.note(noted('main', 'next'))
  expect((await wait(heard.next)).events).toMatchObject([{ id: 'next' }])
})

test('the changes of another tenant displace nothing, and do not show in a cursor', async () => {
  const { feed, wait } = openFeed()
  const before = await wait(undefined, 0)
  await wait(undefined, 0, 'other')

  feed.note(noted('main', 'mine'))
  const one = await wait(before.next)
  for (let n = 0; n < 20_000; n++) feed.note(noted('other', `id-${n}`))
  const two = await wait(one.next, 0)

  expect(one.events).toMatchObject([{ id: 'mine' }])
  expect(two).toEqual({ events: [], next: one.next })
})

test('a loss wakes an operator who waits, and what comes after it is told next', async () => {
  const { clock, feed, wait } = openFeed()
  const waiting = wait()
  await settled()

  feed.lose()
  feed.note(noted('main', 'after'))
  clock.advance(1_000)
  const heard = await waiting

  expect(heard).toMatchObject({ events: [], reset: true })
  expect((await wait(heard.next)).events).toMatchObject([{ id: 'after' }])
})

test('the cursor of another process leads to a reset if changes since then are gone', async () => {
  const { clock, feed, wait } = openFeed()
  await wait(undefined, 0)
  clock.advance(10_000)
  const cursor = `there.1.${clock.now()}`
  feed.note(noted('main', 'gone'))
  for (let n = 0; n < 10_000; n++) feed.note(noted('main', `id-${n}`))

  expect(await wait(cursor)).toMatchObject({ events: [], reset: true })
})

test('the cursor of another process leads to a reset if this one has only just begun to listen', async () => {
  const { clock, feed, wait } = openFeed()
  await wait(undefined, 0)
  clock.advance(1_000)
  const soon = `there.1.${clock.now()}`
  clock.advance(10_000)
  const later = `there.1.${clock.now()}`
  feed.note(noted('main', 'known'))

  expect(await wait(soon)).toMatchObject({ reset: true })
  expect((await wait(later)).events).toMatchObject([{ id: 'known' }])
})
