/** Behaviour specific to the object store in files. */
import { readdir, readFile, readlink, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { createFileObjects } from '../../src/objects/files/index.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { filesIn, openFolder } from './folder.ts'

const FILE = { mimeType: 'text/plain', maxBytes: 10_000_000 }
const AN_HOUR = 3_600_000
const CHUNKS = { mimeType: 'image/png', chunkBytes: 4, text: false }

test('a put that fails leaves no file behind', async () => {
  await using store = await openFolder()
  const { objects, folder } = store

  await expect(objects.put('call/a', blocks(5), { ...FILE, maxBytes: 200_000 })).rejects.toThrow('200000 bytes')
  await expect(objects.put('call/a', failingAfter(3), FILE)).rejects.toThrow('the line broke')

  expect(await filesIn(folder)).toEqual([])
})

test('a reopened store has everything that was stored, and no unfinished files', async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  const put = await objects.put('call/a', blocks(2), { ...FILE, filename: `${'long '.repeat(500)}name` })
  const writer = await objects.writeChunks('call/c', CHUNKS)
  await writer.write(Buffer.from('0123456789'))

  const reopened = createFileObjects({ folder, clock: systemClock })

  expect(await reopened.info('call/a')).toEqual(put)
  expect(await reopened.chunks('call/c')).toMatchObject({ count: 2, bytes: 8, finished: false })
  expect(await readdir(join(folder, 'unfinished'))).toEqual([])
})

test('ids never lead out of the folder', async () => {
  await using store = await openFolder()
  const outside = createFileObjects({ folder: join(store.folder, 'inner'), clock: systemClock })
  await writeFile(join(store.folder, 'secret.object'), 'secret')

  for (const id of [
    '../secret',
    '../../secret',
    'call/../../../../secret',
    '..%2fsecret/a',
    `${store.folder}/secret`,
  ]) {
    expect(await outside.info(id)).toBe(undefined)
    await expect(outside.put(id, blocks(1), FILE)).rejects.toMatchObject({ code: 'BAD_OBJECT_ID' })
  }
  await expect(outside.removeOwner('..')).rejects.toMatchObject({ code: 'BAD_OBJECT_ID' })

  expect(await filesIn(store.folder)).toEqual([join(store.folder, 'secret.object')])
})

test.skipIf(process.platform !== 'linux')('a reader that stops early closes the file (seen in /proc)', async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  await objects.put('call/a', blocks(20), FILE)

  for await (const block of objects.read('call/a')) {
    expect(block.length).toBeGreaterThan(0)
    expect(await openFilesBelow(folder)).toBe(1)
    break
  }

  expect(await openFilesBelow(folder)).toBe(0)
})

test('an object removed or replaced while it is read is read to its end', async () => {
  await using store = await openFolder()
  const { objects } = store
  await objects.put('call/a', blocks(20), FILE)
  let bytes = 0

  for await (const block of objects.read('call/a')) {
    if (bytes === 0) await objects.put('call/a', blocks(1), FILE)
    if (bytes > 500_000) await objects.removeOwner('call')
    bytes += block.length
  }

  expect(bytes).toBe(20 * BLOCK_BYTES)
})

test('a file that was cut short on disk is called damaged, not served', async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  await objects.put('call/a', blocks(1), FILE)
  const writer = await objects.writeChunks('call/c', CHUNKS)
  await writer.finish()
  for (const path of await filesIn(folder)) await truncate(path, (await readFile(path)).length - 1)

  await expect(objects.info('call/a')).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })
  await expect(Array.fromAsync(objects.read('call/a'))).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })
  await expect(objects.chunk('call/c', 0)).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })
  await expect(objects.chunks('call/c')).rejects.toMatchObject({ code: 'OBJECT_DAMAGED' })
})

test('an owner that is still getting chunks does not count as old', async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  await objects.put('old/a', blocks(1), FILE)
  await objects.put('busy/a', blocks(1), FILE)
  const writer = await objects.writeChunks('busy/c', CHUNKS)
  await writer.write(Buffer.from('01234'))
  const chunks = (await filesIn(folder)).find((path) => path.endsWith('/head')) ?? ''
  for (const path of await filesIn(folder)) {
    await utimes(path, 1000, 1000)
    if (path.endsWith('.object')) await utimes(dirname(path), 1000, 1000)
  }

  expect(await Array.fromAsync(objects.owners(AN_HOUR))).toEqual(['old'])
  await utimes(dirname(chunks), 1000, 1000)
  expect((await Array.fromAsync(objects.owners(AN_HOUR))).sort()).toEqual(['busy', 'old'])
})

test('the sweep reports a folder that cannot be written, with advice', async () => {
  await using store = await openFolder()
  await writeFile(join(store.folder, 'a-file'), '')

  const objects = createFileObjects({ folder: join(store.folder, 'a-file'), clock: systemClock })

  await expect(objects.sweep(0)).rejects.toMatchObject({ kind: 'unavailable', code: 'STORAGE_FAILED' })
})

const BLOCK_BYTES = 50_000

async function* blocks(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield Buffer.alloc(BLOCK_BYTES, index)
}

async function* failingAfter(count: number): AsyncGenerator<Uint8Array> {
  yield* blocks(count)
  throw new Error('the line broke')
}

async function openFilesBelow(folder: string): Promise<number> {
  const descriptors = await readdir('/proc/self/fd')
  const targets = await Promise.allSettled(descriptors.map((each) => readlink(join('/proc/self/fd', each))))
  return targets.filter((target) => target.status === 'fulfilled' && target.value.startsWith(folder)).length
}

test('a file whose source pauses for hours is not taken for a leftover, nor are the parts that came before it', async () => {
  await using store = await openFolder()
  const clock = createManualClock(Date.now())
  const objects = createFileObjects({ folder: store.folder, clock })
  await objects.put('call/first', blocks(1), FILE)
  const [paused, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const putting = objects.put('call/second', pausing(paused, goesOn.promise), FILE)
  await paused.promise
  const mtimes = async () => Promise.all((await pathsOf(store.folder)).map(async (path) => (await stat(path)).mtimeMs))

  for (let passed = 0; passed < 3 * AN_HOUR; passed += AN_HOUR / 6) {
    clock.advance(AN_HOUR / 6)
    await expect.poll(async () => Math.min(...(await mtimes()))).toBeGreaterThan(clock.now() - 1_000)
  }
  const swept = await objects.sweep(AN_HOUR)
  const owners = await Array.fromAsync(objects.owners(AN_HOUR))
  goesOn.resolve()

  expect({ swept, owners }).toEqual({ swept: 0, owners: [] })
  expect(await putting).toMatchObject({ bytes: 10 })
})

async function* pausing(paused: PromiseWithResolvers<void>, goesOn: Promise<void>) {
  yield Buffer.from('first')
  paused.resolve()
  await goesOn
  yield Buffer.from('later')
}

/** The owner's folder, and the unfinished files. */
async function pathsOf(folder: string): Promise<string[]> {
  const unfinished = join(folder, 'unfinished')
  const shards = join(folder, 'owners')
  const [shard = ''] = await readdir(shards)
  return [join(shards, shard, 'call'), ...(await readdir(unfinished)).map((name) => join(unfinished, name))]
}
