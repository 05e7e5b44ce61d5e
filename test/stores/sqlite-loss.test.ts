/** Lost or damaged files: a start reports what is missing, and a running store acknowledges only what it can keep. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()
const open = (file: string, options: { acceptLoss?: boolean } = {}) => {
  const lines: LogLine[] = []
  const store = createSqliteStore({ file, clock, log: createMemoryLog(lines), lockWaitMs: 0, ...options })
  onTestFinished(() => store.close())
  return { store, lines }
}

/** The files after a crash, with five calls, each acknowledged in its own commit, one second apart. */
async function crashedWith(calls = 5): Promise<{ file: string; ids: string[] }> {
  const running = join(temporaryFolder(), 'running')
  mkdirSync(running)
  const { store } = open(join(running, 'calls.db'))
  const ids: string[] = []
  for (let i = 0; i < calls; i++) {
    clock.advance(1_000)
    const instance = sampleInstance(clock.now())
    await store.accept(instance)
    ids.push(instance.id)
  }
  const folder = join(temporaryFolder(), 'crashed')
  cpSync(running, folder, { recursive: true })
  return { file: join(folder, 'calls.db'), ids }
}

function filesOf(file: string): Record<string, string> {
  const folder = dirname(file)
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'base64')]))
}

function refusal(file: string): Fault {
  try {
    createSqliteStore({ file, clock, lockWaitMs: 0 })
  } catch (thrown) {
    return thrown as Fault
  }
  throw new Error('The store opened.')
}

/** The start is refused with the loss in the message, and the log is unchanged, so that it can still be repaired. */
function expectLoss(file: string, lost: number): void {
  const before = filesOf(file)

  const { code, message } = refusal(file)

  expect({ code, message }).toMatchObject({ code: 'STORAGE_LOST', message: expect.stringContaining(file) })
  expect(message).toContain(`lacks the last ${lost} commits`)
  expect(message).toContain(new Date(clock.now()).toISOString())
  expect(message).toContain('--accept-loss')
  expect(filesOf(file)['calls.db-wal']).toEqual(before['calls.db-wal'])
  expect(Object.keys(filesOf(file))).toEqual(Object.keys(before))
}

test('after a crash the database has every acknowledged call', async () => {
  const { file, ids } = await crashedWith(5)

  const { store, lines } = open(file)

  for (const id of ids) expect(await store.get(id)).toMatchObject({ id })
  expect(lines).toEqual([])
  expect(readdirSync(dirname(file)).sort()).toEqual(['calls.db', 'calls.db-commits', 'calls.db-wal'])
})

test('a deleted log is noticed, and the loss is reported before a start continues without it', async () => {
  const { file, ids } = await crashedWith(5)
  rmSync(`${file}-wal`)
  expect(refusal(file)).toMatchObject({ code: 'STORAGE_LOST', retryable: false })

  const accepted = open(file, { acceptLoss: true })

  expect(await accepted.store.get(ids[4] as string)).toBe(undefined)
  expect(accepted.lines).toMatchObject([{ level: 'error', message: expect.stringMatching(/missing/) }])
  await accepted.store.accept(sampleInstance(clock.now()))
  await accepted.store.close()
  expect(open(file).lines).toEqual([])
})

test('a log that is damaged in its middle is noticed, though SQLite takes what comes before the damage', async () => {
  const { file } = await crashedWith(5)
  const bytes = readFileSync(`${file}-wal`)
  // In the first frame of the last commit: the commits before it are intact.
  const frames = framesOf(bytes)
  const at = frames.lastIndexOf(true, frames.length - 2) + 1
  bytes.fill(0x5a, 32 + at * (24 + 4096) + 100, 32 + at * (24 + 4096) + 200)
  writeFileSync(`${file}-wal`, bytes)

  expectLoss(file, 1)
  expectLoss(file, 1)
})

test('a log that was cut short is noticed', async () => {
  const { file } = await crashedWith(5)
  truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 4096)

  expectLoss(file, 1)
})

test('a log without a readable header is noticed, and kept', async () => {
  const { file } = await crashedWith(1)
  const bytes = readFileSync(`${file}-wal`)
  writeFileSync(`${file}-wal`, bytes.fill(0, 0, 32))

  expect(refusal(file)).toMatchObject({ code: 'STORAGE_LOST' })
  expect(readFileSync(`${file}-wal`).equals(bytes)).toBe(true)
})

test('an older copy put in place of the database is noticed', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const first = open(file)
  await first.store.accept(sampleInstance(clock.now()))
  await first.store.close()
  copyFileSync(file, `${file}.backup`)
  const second = open(file)
  await second.store.accept(sampleInstance(clock.now()))
  await second.store.accept(sampleInstance(clock.now()))
  await second.store.close()

  renameSync(`${file}.backup`, file)
  expect(refusal(file).message).toContain('lacks the last 2 commits')

  // A restored backup, as the documentation has it.
  rmSync(`${file}-commits`)
  expect(open(file).lines).toMatchObject([{ level: 'warn' }])
})

test('a missing database is not replaced by an empty one while its other files are there', async () => {
  const { file } = await crashedWith(3)
  rmSync(file)
  const before = filesOf(file)

  expect(refusal(file)).toMatchObject({ code: 'STORAGE_LOST', message: expect.stringContaining('3 commits') })
  rmSync(`${file}-commits`)
  expect(refusal(file)).toMatchObject({ code: 'STORAGE_LOST', message: expect.stringContaining('calls.db-wal') })

  expect(filesOf(file)).toEqual({ 'calls.db-wal': before['calls.db-wal'] })
})

test('another database in the same place is noticed', async () => {
  const { file } = await crashedWith(2)
  const other = await crashedWith(7)
  copyFileSync(other.file, file)
  copyFileSync(`${other.file}-wal`, `${file}-wal`)

  expect(refusal(file)).toMatchObject({ code: 'STORAGE_LOST', message: expect.stringContaining('is not the one') })
})

test('a torn commit number does not refuse the start', async () => {
  const { file, ids } = await crashedWith(4)
  const bytes = readFileSync(`${file}-commits`)
  writeFileSync(`${file}-commits`, bytes.fill(0xff, 10, 20))

  const { store, lines } = open(file)

  expect(await store.get(ids[3] as string)).toMatchObject({ id: ids[3] })
  expect(lines).toEqual([])
})

test('commits close behind each other leave one number, written soon after', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const { store } = open(file)
  await store.accept(sampleInstance(clock.now()))
  const first = filesOf(file)['calls.db-commits']

  await store.accept(sampleInstance(clock.now()))
  const busy = filesOf(file)['calls.db-commits']
  clock.advance(LOOKED_AT_EVERY_MS)

  expect(busy).toBe(first)
  expect(filesOf(file)['calls.db-commits']).not.toBe(first)
})

test('large commits close behind each other are counted soon after, so that losing them is noticed', async () => {
  const running = join(temporaryFolder(), 'running')
  mkdirSync(running)
  const { store } = open(join(running, 'calls.db'))
  const acceptMany = () => Promise.all(Array.from({ length: 16 }, () => store.accept(sampleInstance(clock.now()))))
  await acceptMany()
  const before = statSync(join(running, 'calls.db-wal')).size
  await acceptMany()
  await acceptMany()
  clock.advance(LOOKED_AT_EVERY_MS)
  // Behind the commit that counts them, in the order of writes.
  await store.records.remove('nothing')
  clock.advance(LOOKED_AT_EVERY_MS)
  const folder = join(temporaryFolder(), 'crashed')
  cpSync(running, folder, { recursive: true })

  truncateSync(join(folder, 'calls.db-wal'), before)

  expect(refusal(join(folder, 'calls.db'))).toMatchObject({
    code: 'STORAGE_LOST',
    message: expect.stringContaining('lacks the last 3 commits'),
  })
})

test('transactions that change nothing are not written', async () => {
  const { store } = open(join(temporaryFolder(), 'calls.db'))
  const file = join(temporaryFolder(), 'idle.db')
  const idle = open(file)
  await store.accept(sampleInstance(clock.now()))
  const before = filesOf(file)

  await idle.store.records.remove('nothing')
  await idle.store.claim({ operations: ['v1:a.b@1.0.0'], limit: 1, leaseMs: 1_000 })

  expect(filesOf(file)).toEqual(before)
})

/** A store under load does not look at its files more often. */
const LOOKED_AT_EVERY_MS = 10
const GONE = { kind: 'unavailable', code: 'STORAGE_GONE', retryable: true }

test.each([
  ['the folder is deleted', (folder: string) => rmSync(folder, { recursive: true })],
  ['the database is deleted', (folder: string) => rmSync(join(folder, 'calls.db'))],
  ['the log is deleted', (folder: string) => rmSync(join(folder, 'calls.db-wal'))],
  [
    'the folder is replaced by a copy',
    (folder: string) => {
      cpSync(folder, `${folder}.copy`, { recursive: true })
      rmSync(folder, { recursive: true })
      renameSync(`${folder}.copy`, folder)
    },
  ],
])('when %s while the store is open, nothing more is acknowledged', async (_what, destroy) => {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const { store, lines } = open(join(folder, 'calls.db'))
  await store.accept(sampleInstance(clock.now()))

  destroy(folder)
  clock.advance(LOOKED_AT_EVERY_MS)
  const answers = await Promise.allSettled([1, 2].map(() => store.accept(sampleInstance(clock.now()))))

  expect(answers).toMatchObject([
    { status: 'rejected', reason: GONE },
    { status: 'rejected', reason: GONE },
  ])
  await expect(store.accept(sampleInstance(clock.now()))).rejects.toMatchObject(GONE)
  expect(lines).toMatchObject([{ level: 'error', message: expect.stringMatching(/deleted, moved or replaced/) }])
})

test('a folder that is moved away and back is used again, and nothing is written while it is away', async () => {
  const folder = join(temporaryFolder(), 'data')
  mkdirSync(folder)
  const { store, lines } = open(join(folder, 'calls.db'))
  const [before, during, after] = [1, 2, 3].map(() => sampleInstance(clock.now())) as [Sample, Sample, Sample]
  await store.accept(before)

  renameSync(folder, `${folder}.moved`)
  clock.advance(LOOKED_AT_EVERY_MS)
  await expect(store.records.remove('nothing')).rejects.toMatchObject(GONE)
  await expect(store.accept(during)).rejects.toMatchObject(GONE)
  renameSync(`${folder}.moved`, folder)

  expect(await store.accept(after)).toEqual({ kind: 'created' })
  expect(await store.get(during.id)).toBe(undefined)
  expect(await store.get(before.id)).toMatchObject({ id: before.id })
  expect(lines.map(({ level }) => level)).toEqual(['error', 'info'])
})

type Sample = ReturnType<typeof sampleInstance>

/** Of each frame of a log, whether it ends a commit. */
function framesOf(log: Buffer): boolean[] {
  const frames: boolean[] = []
  for (let at = 32; at + 24 <= log.length; at += 24 + 4096) frames.push(log.readUInt32BE(at + 4) !== 0)
  return frames
}
