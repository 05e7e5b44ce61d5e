/** A stream that one worker runs is read through the other: a reader cannot choose the process that it reaches. */
import { expect, test } from 'vitest'
import { at, createFeed } from '../streams/feed.ts'
import { readEvents, readWithTicket, streamIn } from '../streams/sse.ts'
import { startPair } from './pair.ts'

const work = { leaseMs: 600_000, claimEveryMs: 600_000 }

test('a reader resumes at the other worker, with the frames that it missed, and back again', async () => {
  const { feed, definition } = createFeed({ integrity: 'crc32' })
  const [here, there] = await startPair({ operations: [definition], work })
  const subscribed = await here.call('v1:feed.watch', {}, { requestId: 'r1' })
  const { url } = streamIn(subscribed)
  const first = await readWithTicket(subscribed)
  feed.push('a', 'b', 'ü')
  expect([await first.next(), await first.next(), await first.next()]).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }])

  const second = await readEvents(`${at(there, url)}?after=1`)
  const missed = [await second.next(), await second.next()]
  const replaced = await first.next()
  feed.push('d')
  const live = await second.next()
  const third = await readEvents(`${at(here, url)}?after=3`)
  const back = await third.next()
  const replacedToo = await second.next()
  await there.call('v1:unsubscribeFromStream', { requestId: 'r1' })

  expect(second.status).toBe(200)
  expect(missed).toEqual([
    { event: 'frame', id: 2, data: 'b' },
    { event: 'frame', id: 3, data: 'ü' },
  ])
  expect(live).toEqual({ event: 'frame', id: 4, data: 'd' })
  expect(back).toEqual({ event: 'frame', id: 4, data: 'd' })
  for (const end of [replaced, replacedToo]) {
    expect(end).toMatchObject({ event: 'end', data: { error: { code: 'READER_REPLACED' } } })
  }
  expect(await third.rest()).toMatchObject([{ event: 'end', data: { state: 'complete' } }])
})

test('the end of the stream reaches a reader at the other worker after its frames', async () => {
  const { feed, definition } = createFeed()
  const [here, there] = await startPair({ operations: [definition], work })
  const subscribed = await here.call('v1:feed.watch', {}, { requestId: 'r1' })
  const first = await readWithTicket(subscribed)
  const second = await readEvents(at(there, streamIn(subscribed).url))
  await first.rest()

  feed.push(...Array.from({ length: 1_000 }, (_, n) => n))
  const frames = []
  while (frames.length < 1_000) frames.push(await second.next())
  await here.call('v1:unsubscribeFromStream', { requestId: 'r1' })

  expect(frames.map((frame) => frame?.data)).toEqual(Array.from({ length: 1_000 }, (_, n) => n))
  expect(await second.rest()).toMatchObject([{ event: 'end', data: { state: 'complete' } }])
})

test('a worker that stops ends its forwarded readers, and the stream waits for them', async () => {
  const { feed, definition } = createFeed({ integrity: 'crc32' })
  const [here, there] = await startPair({ operations: [definition], work })
  const subscribed = await here.call('v1:feed.watch', {}, { requestId: 'r1' })
  const { url } = streamIn(subscribed)
  await readWithTicket(subscribed)
  const second = await readEvents(at(there, url))
  feed.push('a')
  expect(await second.next()).toMatchObject({ id: 1 })

  const [events] = await Promise.all([second.rest(), there.server.close(5_000)])
  const third = await readEvents(`${at(here, url)}?after=0`)

  expect(events).toMatchObject([{ event: 'end', data: { error: { code: 'PANIC_STREAM_CONNECTION_LOST' } } }])
  expect(await third.next()).toMatchObject({ id: 1, data: 'a' })
  third.leave()
})

test('when the worker that runs the stream dies, a reader at the other one is told', async () => {
  const { feed, definition } = createFeed()
  const [here, there] = await startPair({ operations: [definition], work })
  const subscribed = await here.call('v1:feed.watch', {}, { requestId: 'r1' })
  await readWithTicket(subscribed)
  const second = await readEvents(at(there, streamIn(subscribed).url))
  feed.push('a')
  await second.next()

  here.cut()

  expect(await second.rest()).toMatchObject([
    { event: 'end', data: { error: { code: 'PANIC_STREAM_CONNECTION_LOST' } } },
  ])
  expect((await there.ended('r1')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_STREAM_INTERRUPTED' } })
})

test('of readers that reach both workers at once, one starts the handler and the other takes its place', async () => {
  const { feed, definition } = createFeed()
  const sites = await startPair({ operations: [definition], work })
  const { url } = streamIn(await sites[0].call('v1:feed.watch', {}, { requestId: 'r1' }))

  const readers = await Promise.all(sites.map((site) => readEvents(at(site, url))))
  feed.push('a')
  const events = await Promise.all(readers.map((reader) => reader.next()))

  expect(events.map((event) => event?.event).sort()).toEqual(['end', 'frame'])
  for (const reader of readers) reader.leave()
})
