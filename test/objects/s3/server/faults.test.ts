/** What the store does when the network or S3 fails. The server is real; a proxy breaks its requests. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { S3Options } from '../../../../src/objects/s3/index.ts'
import { chainProblems, joined, readChain } from '../../../../src/testing/fakes/chunk-chain.ts'
import { BINARY, collect, text, write } from '../../../../src/testing/suites/objects/object-content.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { useSeaweedFs } from './bucket.ts'
import { type Break, type Seen, startFaultyProxy } from './faulty-proxy.ts'

const FILE = { mimeType: 'text/plain', maxBytes: 100_000_000 }
const PART = 5 * 1024 * 1024
const isPut = ({ method, url }: Seen) => method === 'PUT' && url.includes('.object')
const isGet = ({ method, url }: Seen) => method === 'GET' && (url.includes('.object') || url.includes('.data-'))
const isHead = ({ method }: Seen) => method === 'HEAD'
const isPart = ({ url }: Seen) => url.includes('partNumber=')
const isComplete = ({ method, url }: Seen) => method === 'POST' && url.includes('uploadId=')

describeWith(s3Server, 'objects in S3 when something fails', () => {
  const s3 = useSeaweedFs()

  async function openBroken(options: Partial<S3Options> = {}) {
    const proxy = await startFaultyProxy(s3.server.port)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    // No chance: every pause has its full length, which is short.
    const objects = await s3.open(await s3.server.createBucket(), {
      endpoint: proxy.endpoint,
      random: () => 0.01,
      partBytes: PART,
      ...options,
    })
    onTestFinished(() => objects.close())
    return { proxy, objects }
  }

  test.for<[string, Break]>([
    ['500', { answer: 500, code: 'InternalError' }],
    ['503 SlowDown', { answer: 503, code: 'SlowDown' }],
    ['a 502 that is not of S3', { answer: 502 }],
    ['a connection that ends before the request', 'cut-request'],
    ['a lost response', 'lose-answer'],
    ['a changed request', 'corrupt-request'],
  ])('a write, a look and a read get through %s', async ([, how]) => {
    const { proxy, objects } = await openBroken()
    for (const which of [isPut, isHead, isGet]) proxy.breakNext(which, how)

    const put = await objects.put('call/a', pieces('hello'), FILE)

    expect(await objects.info('call/a')).toEqual(put)
    expect(text(await collect(objects.read('call/a')))).toBe('hello')
    expect(proxy.seen.filter(isPut).length).toBe(2)
  })

  test('a failure that does not pass is reported after a few tries, with a hint when to come back', async () => {
    const { proxy, objects } = await openBroken()
    const busy = { kind: 'unavailable', code: 'STORAGE_BUSY', ofStorage: true, retryAfterMs: 2_000 }
    proxy.breakNext(isPut, { answer: 503, code: 'SlowDown' }, 100)
    proxy.breakNext(isHead, 'cut-request', 100)

    await expect(objects.put('call/a', pieces('a'), FILE)).rejects.toMatchObject(busy)
    await expect(objects.info('call/a')).rejects.toMatchObject({ ...busy, code: 'STORAGE_FAILED' })

    expect([proxy.seen.filter(isPut).length, proxy.seen.filter(isHead).length]).toEqual([5, 5])
  })

  test('credentials that S3 refuses are asked for again, once for a request', async () => {
    let asked = 0
    const { credentials } = s3.server
    const { proxy, objects } = await openBroken({
      credentials: async () => {
        asked += 1
        return credentials
      },
    })
    proxy.breakNext(isPut, { answer: 403, code: 'ExpiredToken' })
    // The response to HEAD has no text.
    proxy.breakNext(isHead, { answer: 403 })

    await objects.put('call/a', pieces('a'), FILE)
    await objects.info('call/a')
    expect(asked).toBe(3)

    proxy.breakNext(isHead, { answer: 403 }, 100)
    await expect(objects.info('call/a')).rejects.toMatchObject({ code: 'STORAGE_REFUSED', kind: 'unavailable' })
    expect(proxy.seen.filter(isHead).length).toBe(4)
  })

  test('a response that does not come is given up, and the request is sent again', async () => {
    const { proxy, objects } = await openBroken({ idleMs: 1_000 })
    proxy.breakNext(isPut, 'stall')

    await objects.put('call/a', pieces('a'), FILE)

    expect(proxy.seen.filter(isPut).length).toBe(2)
  })

  test('a slow consumer is not taken for a slow server', async () => {
    const idleMs = 1_000
    const { proxy, objects } = await openBroken({ idleMs })
    const content = randomBytes(PART - 1)
    await objects.put('call/a', blocks(content), FILE)
    let bytes = 0

    for await (const piece of objects.read('call/a')) {
      // Longer than the server may take.
      const resumeAt = bytes === 0 ? performance.now() + 1.2 * idleMs : 0
      while (performance.now() < resumeAt) await objects.info('call/a')
      bytes += piece.length
    }

    expect(bytes).toBe(content.length)
    expect(proxy.seen.filter(isGet).length).toBe(1)
  })

  test('if the response to a write is lost, the repeat finds its own object', async () => {
    const { proxy, objects } = await openBroken()
    proxy.breakNext(isPut, 'lose-answer')

    const put = await objects.put('call/a', pieces('mine'), FILE)

    const writes = proxy.seen.filter(({ url, method }) => url.includes('.object') && method !== 'GET')
    expect(writes.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'HEAD'])
    expect(await objects.info('call/a')).toEqual(put)
  })

  test.for<[string, (request: Seen) => boolean, Break]>([
    ['the response to the start is lost', ({ url }) => url.includes('uploads='), 'lose-answer'],
    ['the response to a part is lost', isPart, 'lose-answer'],
    ['a part changes on its way', isPart, 'corrupt-request'],
    ['the response to the end is lost', isComplete, 'lose-answer'],
    ['the end fails with status 200', isComplete, { answer: 200, code: 'InternalError' }],
    ['the facts fail', isPut, { answer: 500 }],
  ])('an upload in parts survives: %s', async ([, which, how]) => {
    const { proxy, objects } = await openBroken()
    const content = randomBytes(2 * PART + 12_345)
    proxy.breakNext(which, how)

    const put = await objects.put('call/large', blocks(content), FILE)

    expect(put).toMatchObject({ bytes: content.length })
    expect(await objects.info('call/large')).toEqual(put)
    expect(Buffer.compare(await collect(objects.read('call/large')), content)).toBe(0)
    expect(await collect(objects.read('call/large', { start: PART - 3, end: PART + 3 }))).toEqual(
      content.subarray(PART - 3, PART + 3),
    )
    expect(proxy.seen.filter(which).length).toBe(which === isPart ? 4 : 2)
  })

  test('an upload in parts that fails leaves no object and no parts', async () => {
    const { proxy, objects } = await openBroken()
    proxy.breakNext(isComplete, { answer: 403, code: 'AccessDenied' }, 100)
    async function* breaking() {
      yield randomBytes(PART + 1)
      throw new Error('the line broke')
    }

    await expect(objects.put('call/a', blocks(randomBytes(PART + 1)), FILE)).rejects.toMatchObject({
      code: 'STORAGE_REFUSED',
    })
    await expect(objects.put('call/a', breaking(), FILE)).rejects.toThrow('the line broke')
    await expect(
      objects.put('call/a', blocks(randomBytes(3 * PART)), { ...FILE, maxBytes: 2 * PART }),
    ).rejects.toThrow()

    const started = proxy.seen.filter(({ url }) => url.includes('uploads=')).length
    const aborted = proxy.seen.filter(({ method, url }) => method === 'DELETE' && url.includes('uploadId=')).length
    expect([started, aborted]).toEqual([3, 3])
    expect(await objects.info('call/a')).toBe(undefined)
    expect(await Array.fromAsync(objects.owners(-Number.MAX_SAFE_INTEGER))).toEqual([])
  })

  test('a download whose connection breaks continues where it broke', async () => {
    const { proxy, objects } = await openBroken()
    const content = randomBytes(2 * PART + 7)
    await objects.put('call/large', blocks(content), FILE)
    proxy.breakNext(({ url }) => url.includes('.data-'), 'cut-answer', 2)

    const got = await collect(objects.read('call/large'))

    expect(Buffer.compare(got, content)).toBe(0)
    const reads = proxy.seen.filter(({ method, url }) => method === 'GET' && url.includes('.data-'))
    expect(reads.length).toBe(3)
    expect(reads[1]?.headers['if-match']).toBe(reads[2]?.headers['if-match'])
    expect(reads[1]?.headers['if-match']).toMatch(/^"/)
  })

  test('bytes that change on their way to us are never a complete object', async () => {
    const { proxy, objects } = await openBroken()
    await objects.put('call/a', pieces('0123456789'), FILE)
    await write(objects, 'call/c', BINARY, '01234567')
    proxy.breakNext(isGet, 'corrupt-answer')
    proxy.breakNext(({ url }) => url.includes('.chunks/0'), 'corrupt-answer', 1)
    proxy.breakNext(({ url }) => url.includes('.chunks/1'), 'corrupt-answer', 2)
    const seen: Uint8Array[] = []

    await expect(
      (async () => {
        for await (const piece of objects.read('call/a')) seen.push(piece)
      })(),
    ).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })

    expect(seen).toEqual([])
    expect(text((await objects.chunk('call/c', 0))?.bytes ?? Buffer.from(''))).toBe('0123')
    await expect(objects.chunk('call/c', 1)).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })
  })

  test('a chain is complete although the responses to its chunks are lost', async () => {
    const { proxy, objects } = await openBroken()
    proxy.breakNext(({ method, url }) => method === 'PUT' && url.includes('.chunks/'), 'lose-answer', 3)

    await write(objects, 'call/c', BINARY, '0123456789ab')

    const chain = await readChain(objects, 'call/c')
    expect(text(joined(chain))).toBe('0123456789ab')
    expect(chainProblems(chain)).toEqual([])
  })

  test('an upload holds two parts at most, and its source waits for them', async () => {
    const { proxy, objects } = await openBroken({ uploadBytes: 2 * PART })
    const [arrived, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    proxy.before = (request) => {
      if (!isPart(request)) return undefined
      arrived.resolve()
      return goesOn.promise
    }
    let pulled = 0
    async function* source() {
      for (; pulled < 6 * PART; pulled += PART / 5) yield Buffer.alloc(PART / 5, pulled % 251)
    }

    const putting = objects.put('call/a', source(), FILE)
    await arrived.promise
    // The proxy holds the first part. Other requests go through, and each of them gives the source a turn.
    for (let turn = 0; turn < 20; turn++) await objects.info('call/b')
    const whileHeld = pulled
    goesOn.resolve()

    expect((await putting).bytes).toBe(6 * PART)
    expect(whileHeld).toBeLessThanOrEqual(2 * PART)
  })

  test('connections are kept', async () => {
    const { proxy, objects } = await openBroken()

    for (let at = 0; at < 20; at++) {
      await objects.put(`call/${at}`, pieces('a'), FILE)
      await collect(objects.read(`call/${at}`))
      await objects.info('call/none')
    }

    expect(proxy.connections).toBeLessThanOrEqual(2)
  })
})

async function* pieces(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

async function* blocks(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 1_000_000) yield content.subarray(at, at + 1_000_000)
}
