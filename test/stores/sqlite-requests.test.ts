/** Request ids are found wherever their entries are: in memory, while being written, and in the file. */
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { statesBefore } from '../../src/core/call/state.ts'
import { Fault } from '../../src/core/fault.ts'
import type { Log } from '../../src/core/ports/runtime.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openDatabase } from '../../src/stores/sqlite/files/open.ts'
import type { Action, GroupCommit } from '../../src/stores/sqlite/group-commit.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { RequestIndex } from '../../src/stores/sqlite/requests/request-index.ts'
import { encodeInstance, type InstanceRow } from '../../src/stores/sqlite/rows.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { expireNow } from '../../src/testing/fakes/expire-now.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()

function openStore(file: string, inMemory: number): Store {
  return createSqliteStore({ file, clock, index: { inMemory } })
}

/** Nobody may have it open. */
function entriesIn(file: string): number {
  const db = new Database(file)
  try {
    return db.prepare<[], number>('SELECT count(*) FROM requests').pluck().get() as number
  } finally {
    db.close()
  }
}

/** The file as a process leaves it that dies at this moment. */
function imageOf(file: string, to: string): string {
  for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, to + end)
  return to
}

/** Slices are written in separate commits, one after the other. */
async function untilWritten(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function acceptMany(store: Store, from: number, to: number): Promise<string[]> {
  const kinds: string[] = []
  for (let at = from; at < to; at += 50) {
    const instances = Array.from({ length: Math.min(50, to - at) }, (_, more) =>
      sampleInstance(clock.now(), { id: `i${at + more}`, requestId: `r${at + more}` }),
    )
    const accepted = await Promise.all(instances.map((instance) => store.accept(instance)))
    kinds.push(...accepted.map(({ kind }) => kind))
  }
  return kinds
}

async function missing(store: Store, to: number): Promise<number[]> {
  const lost: number[] = []
  for (let at = 0; at < to; at++) if ((await store.find('main', 'none|ada', `r${at}`))?.id !== `i${at}`) lost.push(at)
  return lost
}

test('each of many calls is found and none is accepted twice, also by the next process', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'calls.db')
  const store = openStore(file, 600)
  // Each turn further the index is written a slice further.
  const images: string[] = []
  for (let turn = 0; turn < 12; turn++) {
    await acceptMany(store, turn * 250, (turn + 1) * 250)
    images.push(imageOf(file, join(folder, `image${turn}.db`)))
  }

  expect(await missing(store, 3_000)).toEqual([])
  expect(new Set(await acceptMany(store, 0, 3_000))).toEqual(new Set(['request-id-taken']))
  await store.close()

  for (const [turn, image] of [...images, file].entries()) {
    const calls = Math.min(3_000, (turn + 1) * 250)
    const next = openStore(image, 600)
    expect(await missing(next, calls)).toEqual([])
    expect(new Set(await acceptMany(next, calls - 250, calls))).toEqual(new Set(['request-id-taken']))
    await next.close()
  }
})

type Step =
  | { kind: 'accept' | 'takeOver' | 'purge'; request: number }
  /** The next process opens the file after a close, or after the process died. */
  | { kind: 'reopen' | 'crash'; request?: never }

const request = fc.integer({ min: 0, max: 9 })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('accept' as const), request }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('takeOver' as const), request }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('purge' as const), request }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('reopen' as const, 'crash' as const) }) },
  ),
  { maxLength: 40 },
)

test('after random changes, a request id finds exactly the call that has it', async () => {
  const folder = temporaryFolder()
  let files = 0
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (sequence, inMemory) => {
      let file = join(folder, `${files++}.db`)
      let store = openStore(file, inMemory)
      const live = new Map<number, string>()
      let ids = 0

      async function play(step: Step): Promise<void> {
        if (step.request === undefined) {
          const image = imageOf(file, join(folder, `${files++}.db`))
          await store.close()
          if (step.kind === 'crash') file = image
          store = openStore(file, inMemory)
          return
        }
        const holder = live.get(step.request)
        if (step.kind === 'purge') {
          if (holder !== undefined) await expireNow(store, [holder])
          live.delete(step.request)
          return
        }
        const id = `i${ids++}`
        const instance = sampleInstance(clock.now(), { id, requestId: `r${step.request}` })
        const over = step.kind === 'takeOver' ? holder : undefined
        if (over !== undefined) {
          const audit = { verdict: 'allow', backend: 'handler', attempts: 0, outcome: 'requirements-missing' } as const
          await store.advance({ id: over, from: statesBefore('error'), to: 'error', endedAt: 1, audit })
        }
        const acceptance = await store.accept(instance, { ...(over !== undefined && { over }) })
        if (holder !== undefined && over === undefined) {
          expect(acceptance).toMatchObject({ kind: 'request-id-taken', instance: { id: holder } })
          return
        }
        expect(acceptance).toEqual({ kind: 'created' })
        live.set(step.request, id)
      }

      try {
        for (const step of sequence) {
          await play(step)
          // The index is written in separate commits.
          await nextTurn()
          for (let at = 0; at < 10; at++) {
            expect((await store.find('main', 'none|ada', `r${at}`))?.id).toBe(live.get(at))
          }
        }
      } finally {
        await store.close()
      }
    }),
    { numRuns: 60 },
  )
})

test('entries of calls that were removed go too', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  for (let start = 0; start < 3; start++) {
    const store = openStore(file, 10)
    const from = start * 100
    await acceptMany(store, from, from + 100)
    await untilWritten()
    // The first call of all stays; the last few are only in memory when it is closed.
    const removed = Array.from({ length: 98 }, (_, at) => `i${from + at + 1}`)
    for (let at = 0; at < 98; at += 25) {
      await expireNow(store, removed.slice(at, at + 25))
      await untilWritten()
    }
    await store.close()
  }

  // Of each hundred the first and the last.
  expect(entriesIn(file)).toBe(6)
})

test('entries that a dead process had not removed are removed by the first write of the next one', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'calls.db')
  const store = openStore(file, 100)
  await acceptMany(store, 0, 100)
  await untilWritten()
  await expireNow(
    store,
    Array.from({ length: 50 }, (_, at) => `i${at}`),
  )
  const image = imageOf(file, join(folder, 'image.db'))
  await store.close()

  const next = openStore(image, 1)
  for (const at of [100, 101]) {
    await acceptMany(next, at, at + 1)
    await untilWritten()
  }
  await next.close()

  expect(entriesIn(image)).toBe(52)
})

test('an id that was taken over leaves nothing behind, and the call that gave it up has another', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const store = openStore(file, 1)
  const audit = { verdict: 'allow', backend: 'handler', attempts: 0, outcome: 'requirements-missing' } as const
  await acceptMany(store, 0, 1)
  await store.advance({ id: 'i0', from: statesBefore('error'), to: 'error', endedAt: 1, audit })
  await store.accept(sampleInstance(clock.now(), { id: 'i1', requestId: 'r0' }), { over: 'i0' })
  const found = async (at: Store) =>
    (await Promise.all(['r0', 'yielded:i0'].map((id) => at.find('main', 'none|ada', id)))).map((one) => one?.id)

  expect(await found(store)).toEqual(['i1', 'i0'])
  await store.close()
  const next = openStore(file, 1)
  expect(await found(next)).toEqual(['i1', 'i0'])
  await expireNow(next, ['i0'])
  expect(await found(next)).toEqual(['i1', undefined])
  await next.close()

  expect(entriesIn(file)).toBe(1)
})

test('an id that is no Unicode is taken once', async () => {
  const store = openStore(join(temporaryFolder(), 'calls.db'), 1)
  const calls = [1, 2].map((n) => sampleInstance(clock.now(), { id: `i${n}`, requestId: 'r\ud800' }))

  const kinds = (await Promise.all(calls.map((call) => store.accept(call)))).map(({ kind }) => kind)

  expect(kinds).toEqual(['created', 'request-id-taken'])
  await store.close()
})

test('however many call at once, the index is written as fast as they come', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const store = openStore(file, 1_000)
  const callInARow = async (caller: number) => {
    for (let n = 0; n < 10; n++) {
      await store.accept(sampleInstance(clock.now(), { id: `i${caller}-${n}`, requestId: `r${caller}-${n}` }))
    }
  }
  await Promise.all(Array.from({ length: 2_000 }, (_, caller) => callInARow(caller)))
  await store.close()

  expect(entriesIn(file)).toBeGreaterThan(6_000)
})

test('ids that are written while a start is still reading the index are found', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const store = openStore(file, 1_000)
  await acceptMany(store, 0, 5_000)
  await untilWritten()
  await store.close()

  const next = openStore(file, 1)
  for (let at = 5_000; at < 5_040; at++) await acceptMany(next, at, at + 1)
  await untilWritten()

  expect(await missing(next, 5_040)).toEqual([])
  expect(new Set(await acceptMany(next, 4_900, 5_040))).toEqual(new Set(['request-id-taken']))
  await next.close()
})

/** A separate index, to which the test adds calls directly. */
function openIndex(write: GroupCommit['write'], log?: Log) {
  const db = openDatabase({ file: join(temporaryFolder(), 'calls.db') })
  const index = new RequestIndex(db, { write, log, inMemory: 2 })
  onTestFinished(async () => {
    await index.stop()
    db.close()
  })
  return {
    index,
    insert(requestId: string, hash = index.hashOf(1, requestId)): InstanceRow {
      const ref = index.nextRef()
      const { sql, values } = encodeInstance(sampleInstance(clock.now(), { requestId }), ref, 1, undefined)
      db.prepare(sql).run(...values)
      index.add(hash, ref)
      return db.prepare<[number], InstanceRow>('SELECT * FROM instances WHERE ref = ?').get(ref) as InstanceRow
    },
    find: (requestId: string, hash = index.hashOf(1, requestId)) => index.find(hash, 1, requestId) !== undefined,
    written: () => db.prepare<[], number>('SELECT count(*) FROM requests').pluck().get(),
  }
}

test('two ids of the same hash are both found, in memory and when they are written', async () => {
  const { insert, find } = openIndex(async (action) => action([]))
  const ids = ['r1', 'r2', 'r3']
  for (const requestId of ids) insert(requestId, 7)

  expect(ids.map((requestId) => find(requestId, 7))).toEqual([true, true, true])
  insert('r4')
  await untilWritten()
  expect(ids.map((requestId) => find(requestId, 7))).toEqual([true, true, true])
  expect(find('r5', 7)).toBe(false)
})

test('an entry stays where the removal of its call was undone', async () => {
  const { index, insert, find, written } = openIndex(async (action) => action([]))
  const [kept] = [insert('r1'), insert('r2')]
  await untilWritten()

  index.remove(kept)
  insert('r3')
  await untilWritten()

  expect([written(), find('r1'), find('r2'), find('r3')]).toEqual([3, true, true, true])
})

test('an index that cannot be written is kept in memory, said so, and written later', async () => {
  const lines: string[] = []
  const line = (_fields: object, message: string) => void lines.push(message)
  const log: Log = { debug: line, info: line, warn: line, error: line, child: () => log }
  let isFull = true
  const write = async <T>(action: Action<T>): Promise<T> => {
    if (isFull) throw new Fault('unavailable', 'The disk is full.')
    return action([])
  }
  const { insert, find, written } = openIndex(write, log)
  const ids = ['r1', 'r2', 'r3', 'r4', 'r5']
  const found = () => ids.filter((requestId) => find(requestId))

  for (const requestId of ids.slice(0, 3)) insert(requestId)
  await untilWritten()
  expect([found(), written(), lines.length]).toEqual([['r1', 'r2', 'r3'], 0, 1])

  isFull = false
  for (const requestId of ids.slice(3)) insert(requestId)
  await untilWritten()
  expect([found(), written()]).toEqual([ids, 2])
})
