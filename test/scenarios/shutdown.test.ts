/** An orderly shutdown: running calls are finished or handed back, and the next server has them all. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer, operation, type ServerOptions, type Store } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../src/core/ports/runtime.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { answered, callerOf, createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

/** Mounted in another server, which keeps responding while ours closes, as behind a load balancer. */
async function startMounted(options: ServerOptions) {
  const server = await createServer(options)
  const http = createHttpServer(server.listener).listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  return { server, ...callerOf(`http://127.0.0.1:${(http.address() as AddressInfo).port}`) }
}

/** Enough turns of the event loop for code that waits for nothing else. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** A moment that the test holds on to: it learns that it is reached, and says when it is over. */
function createPause() {
  const reached = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    end: over.resolve,
    here() {
      reached.resolve()
      return over.promise
    },
  }
}

/** The store that a server on this folder would have, some of it done otherwise. */
function changedStore(data: string, clock: Clock, change: (sqlite: Store) => Partial<Store>): Store {
  const sqlite = createSqliteStore({ file: join(data, 'callplane.db'), clock })
  return { ...sqlite, ...change(sqlite) }
}

test('a running call is finished within the grace period; meanwhile no new call is accepted, and readiness reports it', async () => {
  verifies('opencall:118', 'opencall:294')
  const data = temporaryFolder()
  const gate = createGate<string>()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const site = await startMounted({ operations: [build], data })
  await site.call('v1:jobs.build', {}, { requestId: 'build-1' })
  await gate.began
  expect((await site.request('/ready')).status).toBe(200)

  const closing = site.server.close(60_000)
  const ready = await site.request('/ready')
  const health = await site.request('/health')
  const refused = await site.call('v1:jobs.build', {}, { requestId: 'build-2' })
  const polled = await site.poll('build-1')
  gate.open('built')
  await closing

  expect([ready.status, health.status]).toEqual([503, 503])
  expect(refused).toMatchObject({ status: 503, body: { requestId: 'build-2', error: { code: 'PANIC_SHUTTING_DOWN' } } })
  expect(refused.headers.get('Retry-After')).toBe('1')
  expect(polled.body.state).toBe('pending')
  const next = await startSite({ operations: [build], data })
  expect((await next.poll('build-1')).body).toMatchObject({ state: 'complete', result: 'built' })
  expect((await next.poll('build-2')).status).toBe(404)
})

test('a call that waits for its answer gets it before the connection is closed', async () => {
  verifies('opencall:094')
  const gate = createGate<string>()
  const ask = operation('v1:oracle.ask', { run: () => gate.pass() })
  const site = await startSite({ operations: [ask] })

  const asking = site.call('v1:oracle.ask')
  await gate.began
  const closing = site.close(60_000)
  gate.open('42')

  expect(await asking).toMatchObject({ status: 200, body: { result: '42' } })
  await closing
})

test('a running call may call other operations until it ends', async () => {
  verifies('opencall:294')
  const data = temporaryFolder()
  const gate = createGate<void>()
  const inner = operation('v1:jobs.inner', { sideEffecting: true, run: () => 'inner' })
  const outer = operation('v1:jobs.outer', {
    model: 'async',
    async run(_args, ctx) {
      await gate.pass()
      return ctx.call('v1:jobs.inner', {})
    },
  })
  const before = await startSite({ operations: [inner, outer], data })
  await before.call('v1:jobs.outer', {}, { requestId: 'outer-1' })
  await gate.began

  const closing = before.close(60_000)
  gate.open()
  await closing

  const after = await startSite({ operations: [inner, outer], data })
  expect((await after.poll('outer-1')).body).toMatchObject({ state: 'complete', result: 'inner' })
})

test('a call that is not done by then is stopped, handed back, and finished by the next server', async () => {
  verifies('opencall:291', 'opencall:294')
  const data = temporaryFolder()
  const began = Promise.withResolvers<void>()
  const seen: { attempt: number; key: string }[] = []
  let reason: unknown
  const build = operation('v1:jobs.build', {
    model: 'async',
    run: (_args, ctx) => {
      seen.push({ attempt: ctx.attempt, key: ctx.key })
      if (ctx.attempt === 2) return 'built'
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          reason = ctx.signal.reason
          reject(ctx.signal.reason)
        })
        began.resolve()
      })
    },
  })
  const before = await startSite({ operations: [build], data })
  const accepted = await before.call('v1:jobs.build', {}, { requestId: 'build-1', sessionId: 's1' })
  await began.promise
  await before.close(0)

  const after = await startSite({ operations: [build], data })
  const ended = await after.ended('build-1')

  expect(reason).toMatchObject({ code: 'SHUTTING_DOWN' })
  expect(ended.body).toMatchObject({ state: 'complete', result: 'built', sessionId: 's1' })
  expect(ended.body.expiresAt).toBe(accepted.body.expiresAt)
  expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2])
  expect(seen[1]?.key).toBe(seen[0]?.key)
})

test('a result that comes after the word to stop still counts', async () => {
  verifies('opencall:294')
  const data = temporaryFolder()
  const began = Promise.withResolvers<void>()
  let runs = 0
  const save = operation('v1:jobs.save', {
    model: 'async',
    run: (_args, ctx) =>
      new Promise<string>((resolve) => {
        runs++
        ctx.signal.addEventListener('abort', () => resolve('saved what there was'))
        began.resolve()
      }),
  })
  const before = await startSite({ operations: [save], data })
  await before.call('v1:jobs.save', {}, { requestId: 'save-1' })
  await began.promise
  await before.close(0)

  const after = await startSite({ operations: [save], data })

  expect((await after.poll('save-1')).body).toMatchObject({ state: 'complete', result: 'saved what there was' })
  expect(runs).toBe(1)
})

test('a cancel that comes while it shuts down is a cancel, not a call to run again', async () => {
  verifies('opencall:292')
  const data = temporaryFolder()
  const began = Promise.withResolvers<void>()
  let runs = 0
  const listen = operation('v1:radio.listen', {
    model: 'async',
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        runs++
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        began.resolve()
      }),
  })
  const site = await startMounted({ operations: [listen], data })
  await site.call('v1:radio.listen', {}, { requestId: 'radio-1' })
  await began.promise

  const closing = site.server.close(60_000)
  const canceled = await answered(await site.request('/ops/radio-1', { method: 'DELETE' }))
  await closing

  expect(canceled.body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  const after = await startSite({ operations: [listen], data })
  expect((await after.poll('radio-1')).body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  expect(runs).toBe(1)
})

test('a queued call stays queued, and starts on the next server', async () => {
  verifies('opencall:051', 'opencall:294')
  const data = temporaryFolder()
  const gate = createGate<string>()
  const began: string[] = []
  const build = operation('v1:jobs.build', {
    model: 'async',
    concurrency: 1,
    run: (_args, ctx) => {
      began.push(`${ctx.requestId} ${ctx.attempt}`)
      return gate.pass()
    },
  })
  const before = await startSite({ operations: [build], data })
  await before.call('v1:jobs.build', {}, { requestId: 'first' })
  await before.call('v1:jobs.build', {}, { requestId: 'second' })
  await gate.began
  const closing = before.close(60_000)
  gate.open('built')
  await closing
  expect(began).toEqual(['first 1'])

  const after = await startSite({ operations: [build], data })

  expect((await after.ended('second')).body.result).toBe('built')
  expect(began).toEqual(['first 1', 'second 1'])
})

test('work that is being claimed at that moment is given back, not lost to a lease', async () => {
  verifies('opencall:294')
  const clock = createStepClock()
  const data = temporaryFolder()
  const pause = createPause()
  const store = changedStore(data, clock, (sqlite) => ({
    async claim(wanted) {
      const answer = await sqlite.claim(wanted)
      if (answer.instances.length > 0) await pause.here()
      return answer
    },
  }))
  const gate = createGate<string>()
  const began: string[] = []
  const build = operation('v1:jobs.build', {
    model: 'async',
    concurrency: 1,
    run: (_args, ctx) => {
      began.push(ctx.requestId)
      return gate.pass()
    },
  })
  const before = await startMounted({ operations: [build], data, store, clock })
  await before.call('v1:jobs.build', {}, { requestId: 'first' })
  await before.call('v1:jobs.build', {}, { requestId: 'second' })
  gate.open('built')
  await pause.reached

  const closing = before.server.close(60_000)
  await turns(20)
  pause.end()
  await closing
  expect(began).toEqual(['first'])

  // The clock has not moved, so a lease that was left behind would still hold.
  const after = await startSite({ operations: [build], data, clock })
  expect((await after.ended('second')).body.result).toBe('built')
})

test('a call that is being written down at that moment is given back as well', async () => {
  verifies('opencall:294')
  const clock = createStepClock()
  const data = temporaryFolder()
  const pause = createPause()
  const store = changedStore(data, clock, (sqlite) => ({
    async accept(instance) {
      await pause.here()
      return sqlite.accept(instance)
    },
  }))
  const build = operation('v1:jobs.build', {
    model: 'async',
    run: (_args, ctx) => {
      if (ctx.attempt === 2) return 'built'
      return new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    },
  })
  const before = await startSite({ operations: [build], data, store, clock })
  const calling = before.call('v1:jobs.build', {}, { requestId: 'build-1' })
  await pause.reached

  const closing = before.close(60_000)
  await turns(20)
  pause.end()
  expect((await calling).status).toBe(202)
  await clock.passing(closing, 0)

  const after = await startSite({ operations: [build], data, clock })
  expect((await after.ended('build-1')).body.result).toBe('built')
})

test('a server that stops says so, and says when it is done; one that never listened says nothing', async () => {
  const lines: LogLine[] = []
  const log = createMemoryLog(lines)
  const site = await startSite({ operations: [], log })
  const hosted = await createServer({ operations: [], log, data: temporaryFolder() })
  const last = () => lines.map(({ message }) => message).filter((message) => message.startsWith('stop'))

  await hosted.close()
  const before = last()
  await Promise.all([site.close(1_000), site.close(1_000)])

  expect(before).toEqual([])
  expect(last()).toEqual(['stopping: no more calls are accepted, and running ones may finish', 'stopped'])
})
