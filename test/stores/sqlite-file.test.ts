/** The SQLite store's file: durability, refused starts, and a full disk. */
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import { openDatabase } from '../../src/stores/sqlite/files/open.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()
const open = (file: string, options: { maxBytes?: number } = {}) =>
  createSqliteStore({ file, clock, lockWaitMs: 0, ...options })
const newFile = () => join(temporaryFolder(), 'calls.db')

/** A file with some calls in it, closed. */
async function filledFile(calls = 1): Promise<string> {
  const file = newFile()
  const store = open(file)
  await Promise.all(Array.from({ length: calls }, () => store.accept(sampleInstance(clock.now()))))
  await store.close()
  return file
}

function refusal(file: string): Fault {
  try {
    open(file)
  } catch (thrown) {
    return thrown as Fault
  }
  throw new Error('The store opened.')
}

/** Refused with this code and the file's name, and not a byte or a file is different. */
function expectUntouched(file: string, code: string): void {
  const folder = join(file, '..')
  const before = { bytes: readFileSync(file), files: readdirSync(folder) }

  const fault = refusal(file)

  expect(fault).toMatchObject({ name: 'Fault', kind: 'unavailable', code })
  expect(fault.message).toContain(file)
  expect(readFileSync(file).equals(before.bytes)).toBe(true)
  expect(readdirSync(folder)).toEqual(before.files)
}

test('stored calls are there after closing and opening again', async () => {
  const file = newFile()
  const first = open(file)
  const instance = sampleInstance(clock.now(), { idempotencyKey: 'k1' })
  await first.accept(instance)
  const { instance: ended } = await first.advance({ id: instance.id, from: ['accepted'], to: 'complete' })
  const alias = { tenant: 'main', owner: instance.owner, requestId: 'r2', instanceId: instance.id }
  await first.alias({ ...alias, expiresAt: instance.expiresAt })
  await first.close()

  const second = open(file)

  expect(await second.get(instance.id)).toEqual(ended)
  expect(await second.find('main', instance.owner, 'r2')).toMatchObject({ id: instance.id, requestId: 'r2' })
  await second.close()
})

test('every commit waits for the disk before it is acknowledged', () => {
  const db = openDatabase({ file: newFile() })

  const settings = ['synchronous', 'journal_mode'].map((name) => db.pragma(name, { simple: true }))
  db.close()

  // 2 is FULL. With 1, the last commits before a power cut would be gone.
  expect(settings).toEqual([2, 'wal'])
})

test('a database of a newer version is refused and left as it is', async () => {
  const file = await filledFile()
  const db = new Database(file)
  db.pragma('user_version = 9000')
  db.close()

  expectUntouched(file, 'STORAGE_NEWER')
  expect(refusal(file).message).toContain('schema 9000')
})

test('a database of another program is refused and left as it is', () => {
  const file = newFile()
  const db = new Database(file)
  db.exec('CREATE TABLE notes (text)')
  db.close()

  expectUntouched(file, 'STORAGE_FOREIGN')
})

test('a file that is not a database is refused and left as it is', () => {
  const file = newFile()
  writeFileSync(file, 'Dear diary, today nothing happened. '.repeat(200))

  expectUntouched(file, 'STORAGE_DAMAGED')
})

test('a database that was cut short is refused and left as it is', async () => {
  const file = await filledFile(200)
  truncateSync(file, 20_000)

  expectUntouched(file, 'STORAGE_DAMAGED')
})

test('a database with a page of rubbish is refused and left as it is', async () => {
  const file = await filledFile(200)
  const bytes = readFileSync(file)
  bytes.fill(0x5a, bytes.length - 3 * 4096)
  writeFileSync(file, bytes)

  expectUntouched(file, 'STORAGE_DAMAGED')
})

test('a folder that does not exist is named in the refusal', () => {
  const file = join(temporaryFolder(), 'missing', 'calls.db')

  expect(refusal(file)).toMatchObject({ code: 'STORAGE_UNREACHABLE', message: expect.stringContaining(file) })
})

test('a call that is too large for the free space fails alone, and the store continues', async () => {
  const store = open(newFile(), { maxBytes: 512 * 1024 })
  const [before, after] = [sampleInstance(clock.now()), sampleInstance(clock.now())]
  const huge = sampleInstance(clock.now(), { args: 'x'.repeat(1024 * 1024) })

  const answers = await Promise.allSettled([before, huge, after].map((instance) => store.accept(instance)))

  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(answers[1]).toMatchObject({ reason: { kind: 'unavailable', code: 'STORAGE_FULL', retryable: true } })
  expect(await store.get(huge.id)).toBe(undefined)
  expect(await store.get(after.id)).toEqual(after)
  await store.close()
})

test('a full store keeps what it acknowledged, and takes calls again once there is room', async () => {
  const store = open(newFile(), { maxBytes: 512 * 1024 })
  const accepted: string[] = []
  const refused: { id: string; fault: Fault }[] = []
  while (refused.length === 0) {
    const batch = Array.from({ length: 10 }, () =>
      sampleInstance(clock.now(), { args: 'x'.repeat(8_000), state: 'complete', keepUntil: clock.now() }),
    )
    const answers = await Promise.allSettled(batch.map((instance) => store.accept(instance)))
    for (const [i, { id }] of batch.entries()) {
      const answer = answers[i]
      if (answer?.status === 'rejected') refused.push({ id, fault: answer.reason })
      else accepted.push(id)
    }
  }

  for (const { id, fault } of refused) {
    expect(fault.code).toBe('STORAGE_FULL')
    expect(await store.get(id)).toBe(undefined)
  }
  for (const id of accepted) expect(await store.get(id)).toMatchObject({ id })
  await store.expire(20, async () => {})
  expect(await store.accept(sampleInstance(clock.now(), { args: 'x'.repeat(8_000) }))).toEqual({ kind: 'created' })
  await store.close()
})

test('a lease that ran out while nothing could be written is not given to others before its holder could extend it', async () => {
  const store = open(newFile(), { maxBytes: 512 * 1024 })
  const operations = ['v1:reports.generate@1.0.0']
  const leased = { operation: operations[0] as string, state: 'pending' as const, attempt: 1 }
  const held = sampleInstance(clock.now(), { ...leased, dueAt: clock.now() + 30_000 })
  await store.accept(held)
  const filler = () =>
    sampleInstance(clock.now(), { args: 'x'.repeat(8_000), state: 'complete', keepUntil: clock.now() })
  const fillUp = async () => {
    for (;;) await store.accept(filler())
  }
  await expect(fillUp()).rejects.toMatchObject({ code: 'STORAGE_FULL' })

  clock.advance(40_000)
  await expect(store.accept(filler())).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  await store.expire(20, async () => {})
  const claim = { operations, limit: 10, leaseMs: 30_000 }

  expect((await store.claim(claim)).instances).toEqual([])
  expect(await store.extend([{ id: held.id, attempt: 1 }], 30_000)).toMatchObject([{ held: true }])
  clock.advance(30_001)
  expect((await store.claim(claim)).instances).toMatchObject([{ id: held.id, attempt: 2 }])
  await store.close()
})
