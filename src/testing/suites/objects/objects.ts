/**
 * The shared test suite for object stores. Pass your runner's `describe`, `test` and `expect`, and a function that
 * opens an empty store. The adapter itself tests folders, buckets and crashes.
 */
import type { ObjectStore } from '../../../core/ports/objects.ts'
import type { TestRunner } from '../runner.ts'
import { describeChunkedObjects } from './chunked.ts'
import {
  BINARY,
  bytes,
  collect,
  failing,
  list,
  type ObjectStory,
  pieces,
  sha256,
  text,
  write,
} from './object-content.ts'

export interface OpenedObjects {
  objects: ObjectStore
  /** Removes everything that was stored. */
  cleanup(): Promise<void>
}

const FILE = { mimeType: 'text/plain', maxBytes: 100 }
/** Written before any time, even one in the future: a store may date bytes by another clock than ours. */
const EVERY_AGE = -Number.MAX_SAFE_INTEGER

const IMPOSSIBLE = [
  '',
  '/',
  'call',
  'call/',
  '/a',
  './a',
  '../a',
  'call/.',
  'call/..',
  'call/../a',
  'call/a/b',
  'call\\a/b',
  'call/a\0',
  'call/a\n',
  'call/%2e%2e',
  'call/é',
  `call/${'a'.repeat(201)}`,
]

export function describeObjectStore(runner: TestRunner, name: string, open: () => Promise<OpenedObjects>): void {
  const story: ObjectStory = (title, body) => {
    runner.test(title, async () => {
      const { objects, cleanup } = await open()
      try {
        await body(objects)
      } finally {
        await cleanup()
      }
    })
  }
  describeWholeObjects(runner, name, story)
  describeChunkedObjects(runner, name, story)
  describeOwners(runner, name, story)
}

function describeWholeObjects({ describe, expect }: TestRunner, name: string, story: ObjectStory): void {
  describe(`${name}: whole objects`, () => {
    story('an object is read back with the same bytes and metadata', async (objects) => {
      const put = await objects.put('call/photo', pieces('hello ', '', 'world'), { ...FILE, filename: 'hi "é".txt' })

      expect(text(await collect(objects.read('call/photo')))).toBe('hello world')
      expect(await objects.info('call/photo')).toEqual(put)
      expect(put).toMatchObject({ id: 'call/photo', bytes: 11, mimeType: 'text/plain', filename: 'hi "é".txt' })
      expect(put.sha256).toBe(sha256(bytes('hello world')))
      expect(typeof put.createdAt).toBe('number')
    })

    story('an empty object can be stored', async (objects) => {
      await objects.put('call/empty', pieces(), FILE)

      expect(await objects.info('call/empty')).toMatchObject({ bytes: 0, sha256: sha256(bytes('')) })
      expect(text(await collect(objects.read('call/empty')))).toBe('')
    })

    story('a range returns its bytes, up to the end of the object', async (objects) => {
      await objects.put('call/a', pieces('0123456789'), FILE)
      const range = async (start: number, end: number) => text(await collect(objects.read('call/a', { start, end })))

      expect(await range(2, 5)).toBe('234')
      expect(await range(0, 1)).toBe('0')
      expect(await range(8, 1000)).toBe('89')
      expect(await range(10, 20)).toBe('')
    })

    story('an object of the largest size is stored; one byte more is refused and leaves no bytes', async (objects) => {
      let released = false
      async function* endless() {
        try {
          while (true) yield bytes('abc')
        } finally {
          released = true
        }
      }

      await objects.put('call/fits', pieces('abc', 'def'), { ...FILE, maxBytes: 6 })
      await expect(objects.put('call/large', endless(), { ...FILE, maxBytes: 10 })).rejects.toMatchObject({
        kind: 'invalid-input',
        code: 'MEDIA_TOO_LARGE',
        details: { maxBytes: 10 },
      })

      expect(await objects.info('call/fits')).toMatchObject({ bytes: 6 })
      expect(await objects.info('call/large')).toBe(undefined)
      expect(released).toBe(true)
    })

    story('the error of a failed source is passed on, and nothing is stored', async (objects) => {
      const broken = new Error('the line broke')

      await expect(objects.put('call/a', failing(broken, 'abc'), FILE)).rejects.toMatchObject({
        message: 'the line broke',
      })

      expect(await objects.info('call/a')).toBe(undefined)
      await expect(collect(objects.read('call/a'))).rejects.toMatchObject({ kind: 'not-found' })
    })

    story(
      'a second object with the same id replaces the first completely, and only if its write succeeds',
      async (objects) => {
        await objects.put('call/a', pieces('first and longer'), FILE)
        await expect(objects.put('call/a', failing(new Error('no'), 'sec'), FILE)).rejects.toMatchObject({})
        expect(text(await collect(objects.read('call/a')))).toBe('first and longer')

        await objects.put('call/a', pieces('second'), FILE)

        expect(text(await collect(objects.read('call/a')))).toBe('second')
        expect(await objects.info('call/a')).toMatchObject({ bytes: 6 })
      },
    )

    story('ids that differ only in case are distinct, and ids that look like paths do not exist', async (objects) => {
      await objects.put('call/A', pieces('upper'), FILE)
      await objects.put('call/a', pieces('lower'), FILE)
      await objects.put(`${'o'.repeat(200)}/${'N'.repeat(200)}`, pieces('long'), FILE)

      expect(text(await collect(objects.read('call/A')))).toBe('upper')
      expect(text(await collect(objects.read('call/a')))).toBe('lower')
      expect(text(await collect(objects.read(`${'o'.repeat(200)}/${'N'.repeat(200)}`)))).toBe('long')
      for (const id of IMPOSSIBLE) {
        expect(await objects.info(id)).toBe(undefined)
        expect(await objects.chunks(id)).toBe(undefined)
        expect(await objects.chunk(id, 0)).toBe(undefined)
        await expect(collect(objects.read(id))).rejects.toMatchObject({ kind: 'not-found' })
        await expect(objects.put(id, pieces('x'), FILE)).rejects.toMatchObject({ kind: 'internal' })
        await expect(objects.writeChunks(id, BINARY)).rejects.toMatchObject({ kind: 'internal' })
      }
    })
  })
}

function describeOwners({ describe, expect }: TestRunner, name: string, story: ObjectStory): void {
  describe(`${name}: owners`, () => {
    story('removing an owner removes all its objects, and none of another owner', async (objects) => {
      await objects.put('one/a', pieces('a'), FILE)
      await write(objects, 'one/c', BINARY, '0123456789')
      await objects.put('two/a', pieces('kept'), FILE)

      await objects.removeOwner('one')
      await objects.removeOwner('one')
      await objects.removeOwner('never-was')

      expect(await objects.info('one/a')).toBe(undefined)
      expect(await objects.chunks('one/c')).toBe(undefined)
      expect(await objects.chunk('one/c', 0)).toBe(undefined)
      expect(text(await collect(objects.read('two/a')))).toBe('kept')
    })

    story('a result that is removed while it is being written cannot be continued', async (objects) => {
      const writer = await objects.writeChunks('one/c', BINARY)
      await writer.write(bytes('012345'))

      await objects.removeOwner('one')

      await expect(writer.finish()).rejects.toMatchObject({ kind: 'not-found' })
      expect(await objects.chunks('one/c')).toBe(undefined)
    })

    story('owners are listed by the time of their last write', async (objects) => {
      expect(await list(objects.owners(EVERY_AGE))).toEqual([])
      await objects.put('one/a', pieces('a'), FILE)
      await objects.put('Two~:._-/a', pieces('a'), FILE)
      await objects.writeChunks('three/c', BINARY)

      expect(await list(objects.owners(EVERY_AGE))).toEqual(['Two~:._-', 'one', 'three'])
      expect(await list(objects.owners(Number.MAX_SAFE_INTEGER))).toEqual([])
    })
  })
}
