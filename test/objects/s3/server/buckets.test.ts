/** What is in the bucket, how it is found again, and what several nodes see of it. */
import { hash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { openS3Objects, type S3Options } from '../../../../src/objects/s3/index.ts'
import { systemClock } from '../../../../src/server/build/environment.ts'
import { createManualClock } from '../../../../src/testing/fakes/clock.ts'
import {
  BINARY,
  bytes,
  collect,
  list,
  pieces,
  text,
  write,
} from '../../../../src/testing/suites/objects/object-content.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { silent, useSeaweedFs } from './bucket.ts'
import { type Seen, startFaultyProxy } from './faulty-proxy.ts'

const FILE = { mimeType: 'text/plain', maxBytes: 1_000 }
const HOUR_MS = 3_600_000
const isList = ({ method, url }: Seen) => method === 'GET' && url.includes('list-type=2')
const isRemoval = ({ method, url }: Seen) => method === 'POST' && url.includes('delete=')
const notIn = (known: readonly Seen[]) => {
  const before = known.length
  return () => known.slice(before)
}

/** The id of a call that was made at this time. */
function callId(ms: number, number: number): string {
  const digits = ms.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7abc-8abc-${number.toString(16).padStart(12, '0')}`
}

describeWith(s3Server, 'a bucket', () => {
  const s3 = useSeaweedFs()

  async function openSeen(options: Partial<S3Options> = {}) {
    const proxy = await startFaultyProxy(s3.server.port)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    const bucket = await s3.server.createBucket()
    const objects = await s3.open(bucket, { endpoint: proxy.endpoint, ...options })
    onTestFinished(() => objects.close())
    return { proxy, bucket, objects }
  }

  test('the objects of many calls are removed with a few requests', async () => {
    const { proxy, objects } = await openSeen()
    const now = Date.now()
    const ids = Array.from({ length: 60 }, (_, number) => callId(now + number, number))
    const kept = callId(now + 30, 1_000)
    await Promise.all([...ids, kept].map((id) => objects.put(`${id}/result-1-0`, pieces('a'), FILE)))
    await Promise.all(ids.map((id) => objects.put(`${id}/part-0`, pieces('a'), FILE)))
    const since = notIn(proxy.seen)

    await Promise.all(ids.map((id) => objects.removeOwner(id)))

    // The hour may have changed while the ids were made.
    expect(since().filter(isList).length).toBeLessThanOrEqual(2)
    expect(since().filter(isRemoval).length).toBeLessThanOrEqual(2)
    expect(await list(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([kept])
  })

  test('owners that others lie between are reached without reading the others', async () => {
    const { proxy, objects } = await openSeen()
    const hour = Date.UTC(2026, 0, 1)
    const between = callId(hour + 2, 2)
    const chain = await objects.writeChunks(`${between}/chunks`, { ...BINARY, chunkBytes: 1 })
    for (let at = 0; at < 11; at++) await chain.write(bytes('x'.repeat(100)))
    const ends = [callId(hour + 1, 1), callId(hour + 3, 3)]
    for (const id of ends) await objects.put(`${id}/a`, pieces('a'), FILE)
    const since = notIn(proxy.seen)

    await Promise.all(ends.map((id) => objects.removeOwner(id)))

    const starts = since()
      .filter(isList)
      .map(({ url }) => new URLSearchParams(url.split('?')[1]).get('start-after'))
    expect(starts).toEqual(ends.map((id) => `objects/2026-01-01T00/${id}/`))
    expect(await objects.chunks(`${between}/chunks`)).toMatchObject({ count: 1_099 })
    expect(await list(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([between])

    await objects.removeOwner(between)
    expect(await list(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([])
  }, 60_000)

  test('a sweep lists an hour again only when it is twice as old, and none that is too young', async () => {
    const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
    const clock = createManualClock(start)
    const { proxy, objects } = await openSeen({ clock: { ...systemClock, now: () => clock.now() } })
    const [old, young] = [callId(start - 3 * HOUR_MS, 1), callId(start, 2)]
    for (const id of [old, young]) await objects.put(`${id}/a`, pieces('a'), FILE)
    const sweep = async () => {
      const since = notIn(proxy.seen)
      await list(objects.owners(HOUR_MS))
      return since().filter(({ url }) => isList({ method: 'GET', url, headers: {} }) && !url.includes('delimiter'))
        .length
    }

    expect(await sweep()).toBe(1)
    expect(await sweep()).toBe(0)
    clock.advance(2 * HOUR_MS)
    // The young hour is two hours old by now, and the old one not yet twice as old.
    expect(await sweep()).toBe(1)
    clock.advance(2.5 * HOUR_MS)
    expect(await sweep()).toBe(2)
  })

  test('an upload that takes hours keeps the objects of its call from being swept', async () => {
    const clock = createManualClock(Date.now())
    const { proxy, objects } = await openSeen({ clock: { ...clock, now: Date.now, schedule: clock.schedule } })
    const [paused, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    async function* pausing() {
      yield bytes('first')
      paused.resolve()
      await goesOn.promise
      yield bytes('later')
    }
    const isMark = ({ method, url }: Seen) => method === 'PUT' && url.endsWith('/call/fresh')
    const putting = objects.put('call/b', pausing(), FILE)
    await paused.promise

    for (let marks = 1; marks <= 3; marks++) {
      clock.advance(HOUR_MS / 6)
      await expect.poll(() => proxy.seen.filter(isMark).length).toBe(marks)
    }
    goesOn.resolve()

    expect(await putting).toMatchObject({ bytes: 10 })
    await objects.removeOwner('call')
    expect(await list(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([])
  })

  test('one node follows the chunks that another writes, with two requests for each look', async () => {
    const { bucket, objects: writing } = await openSeen()
    const proxy = await startFaultyProxy(s3.server.port)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    const reading = await s3.open(bucket, { endpoint: proxy.endpoint })
    const writer = await writing.writeChunks('call/c', BINARY)
    await writer.write(bytes('0123456789'.repeat(4)))
    expect(await reading.chunks('call/c')).toMatchObject({ count: 9, bytes: 36, finished: false })
    const since = notIn(proxy.seen)

    expect(await reading.chunks('call/c')).toMatchObject({ count: 9, finished: false })
    expect(since().length).toBe(2)
    await writer.finish()
    expect(await reading.chunks('call/c')).toMatchObject({ count: 10, bytes: 40, finished: true })
    const sinceEnd = notIn(proxy.seen)
    expect(await reading.chunks('call/c')).toMatchObject({ count: 10, finished: true })
    expect(sinceEnd().length).toBe(1)

    await writing.removeOwner('call')
    expect(await reading.chunks('call/c')).toBe(undefined)
  })

  test('a link works without a credential, for this object and until it expires', async () => {
    const { bucket, objects } = await openSeen()
    const endpoint = encodeURIComponent(s3.server.endpoint)
    const linking = await openS3Objects({
      url: `s3://${bucket}/objects?endpoint=${endpoint}`,
      credentials: s3.server.credentials,
      partBytes: 5 * 1024 * 1024,
      clock: systemClock,
      log: silent,
      env: {},
      conceal: () => () => {},
    })
    const large = Buffer.alloc(6 * 1024 * 1024, 7)
    await objects.put('call/a', pieces('0123456789'), { ...FILE, filename: 'zehn "ziffern" é.txt' })
    await linking.put('call/b', one(large), { mimeType: 'image/png', maxBytes: large.length })

    const link = (await linking.link('call/a', 60_000)) ?? ''
    const got = await fetch(link)
    const range = await fetch(link, { headers: { Range: 'bytes=2-4' } })
    const other = await fetch(link.replace('/call/a.object', '/call/b.object'))
    const longer = await fetch(link.replace('X-Amz-Expires=60', 'X-Amz-Expires=6000'))
    const big = await fetch((await linking.link('call/b', 60_000)) ?? '')

    expect(await got.text()).toBe('0123456789')
    expect(got.headers.get('content-type')).toBe('text/plain')
    expect(got.headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''zehn%20%22ziffern%22%20%C3%A9.txt",
    )
    expect([range.status, await range.text()]).toEqual([206, '234'])
    expect([other.status, longer.status]).toEqual([403, 403])
    expect(hash('sha256', Buffer.from(await big.arrayBuffer()))).toBe(hash('sha256', large))
    expect(await linking.link('call/none', 60_000)).toBe(undefined)
    expect(link).not.toContain(s3.server.credentials.secretAccessKey)
  })

  test('a clock that is hours wrong is corrected by the date of S3', async () => {
    const aheadMs = 5 * HOUR_MS
    const clock = { ...systemClock, now: () => Date.now() + aheadMs }
    const { objects } = await openSeen({ clock })

    await objects.put('call/a', pieces('a'), FILE)

    expect(text(await collect(objects.read('call/a')))).toBe('a')
    expect((await fetch((await objects.link('call/a', 60_000)) ?? '')).status).toBe(200)
  })

  test('the keys have no text of a caller, and whatever else is in the bucket stays', async () => {
    const { proxy, bucket, objects } = await openSeen()
    const other = await openS3Objects({
      url: `s3://${bucket}/another?endpoint=${encodeURIComponent(s3.server.endpoint)}`,
      credentials: s3.server.credentials,
      clock: systemClock,
      log: silent,
      env: {},
      conceal: () => () => {},
    })
    await other.put('call/a', pieces('other'), FILE)
    await objects.put('call/a', pieces('a'), {
      ...FILE,
      mimeType: 'text/plain; x="<&>"',
      filename: '../../<x>&\u0001.txt',
    })
    await write(objects, 'call/c', BINARY, '0123')

    const paths = proxy.seen
      .map(({ url }) => new URL(url, 'http://s3').pathname)
      .filter((path) => path.includes('call/'))
    expect(
      paths.every((path) => /^\/[\w-]+\/objects\/timeless\/call\/(a\.object|c\.chunks\/(head|0))$/.test(path)),
    ).toBe(true)
    expect(await objects.info('call/a')).toMatchObject({
      mimeType: 'text/plain; x="<&>"',
      filename: '../../<x>&\u0001.txt',
    })
    await objects.removeOwner('call')
    expect(text(await collect(other.read('call/a')))).toBe('other')
    expect(await list(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([])
  })
})

async function* one(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}
