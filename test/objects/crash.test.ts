/** Writer processes that are killed or run out of space, and the files that they leave on disk. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { createFileObjects } from '../../src/objects/files/index.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { chainProblems, joined, readChain } from '../../src/testing/fakes/chunk-chain.ts'
import { filesIn, openFolder } from './folder.ts'
import { factsOf, PROGRAM, runAndKill } from './killed-writer.ts'
import { CHUNKS, PIECE_BYTES, piece } from './writer-process.ts'

const PIECES = 120
/** Processes start slowly on a busy machine. */
const MINUTE = { timeout: 60_000 }
const AN_HOUR = 3_600_000
const anHourFromNow = { ...systemClock, now: () => Date.now() + AN_HOUR }

test('a chunk writer that is killed leaves only whole chunks, and the next run continues', MINUTE, async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  const content = Buffer.concat(Array.from({ length: PIECES }, (_, index) => piece(index)))
  let seen: object[] = []

  for (const killAfter of [1, 2, 30, 80]) {
    await runAndKill('chunks', folder, PIECES, killAfter)

    const chain = await readChain(objects, 'call/chunks')
    expect(factsOf(chain).slice(0, seen.length)).toEqual(seen)
    expect(chainProblems(chain)).toEqual([])
    expect(joined(chain).equals(content.subarray(0, joined(chain).length))).toBe(true)
    if (killAfter > 2) expect(chain.length).toBeGreaterThanOrEqual(killAfter - 2)
    expect(await objects.chunks('call/chunks')).toMatchObject({ count: chain.length, finished: false })
    seen = factsOf(chain)
  }

  const writer = await objects.writeChunks('call/chunks', CHUNKS)
  for (let index = 0; index < PIECES; index++) await writer.write(piece(index))
  expect(await writer.finish()).toMatchObject({ bytes: PIECES * PIECE_BYTES, finished: true })
  const chain = await readChain(objects, 'call/chunks')
  expect(factsOf(chain).slice(0, seen.length)).toEqual(seen)
  expect(chainProblems(chain)).toEqual([])
  expect(joined(chain).equals(content)).toBe(true)
})

test('an upload whose process is killed does not appear, and the sweep takes away what it left', MINUTE, async () => {
  await using store = await openFolder()
  const { objects, folder } = store

  await runAndKill('put', folder, PIECES, 50)

  expect(await objects.info('call/file')).toBe(undefined)
  expect(await filesIn(folder)).toHaveLength(1)
  expect(await objects.sweep(AN_HOUR)).toBe(0)
  expect(await createFileObjects({ folder, clock: anHourFromNow }).sweep(AN_HOUR / 2)).toBe(1)
  expect(await filesIn(folder)).toEqual([])
})

test('an object whose replacement is interrupted by a kill does not change', MINUTE, async () => {
  await using store = await openFolder()
  const { objects, folder } = store
  const first = await objects.put('call/file', oneByOne(3), { mimeType: 'image/png', maxBytes: 100_000 })

  await runAndKill('put', folder, PIECES, 50)

  expect(await objects.info('call/file')).toEqual(first)
  expect(Buffer.concat(await Array.fromAsync(objects.read('call/file')))).toHaveLength(3 * PIECE_BYTES)
})

test.each([
  ['an upload', 'put', 0],
  // A chunk is 4 KiB and its seal; the limit below is smaller, as on a disk with no block left.
  ['a chunked result', 'chunks', 1],
] as const)('%s for which there is no room is refused as such and leaves no bytes', MINUTE, async (_, mode, files) => {
  await using store = await openFolder()
  const { folder } = store
  const blocks = mode === 'put' ? 64 : 4

  // `ulimit -f` counts 1,024 bytes in bash; a write across it is cut short, and the next one fails with EFBIG.
  const limited = `ulimit -f ${blocks} && exec "$0" "$@"`
  const child = spawn('bash', ['-c', limited, process.execPath, PROGRAM, mode, folder, String(PIECES)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = await Array.fromAsync(createInterface(child.stdout))

  expect(lines.at(-1)).toBe('unavailable STORAGE_FULL')
  const left = await filesIn(folder)
  expect(left.filter((path) => !path.endsWith('/head'))).toEqual([])
  expect(left).toHaveLength(files)
})

async function* oneByOne(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield piece(index)
}
