/** How long a caller can poll a call, and what remains of it afterwards. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { operation, type Store } from 'callplane'
import { expect, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { verifies } from '../requirements.ts'
import { createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

const MINUTE = 60_000

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
}

test('a call is found through the last moment of its ttl and is 404 from then on', async () => {
  verifies(
    'opencall:089',
    'opencall:090',
    'opencall:091',
    'opencall:112',
    'opencall:131',
    'opencall:271',
    'opencall:272',
  )
  const clock = createStepClock()
  const gate = createGate<number>()
  const count = operation('v1:rows.count', { model: 'async', ttlSeconds: 60, run: () => gate.pass() })
  const site = await startSite({ operations: [count], clock })
  const expiresAt = clock.now() / 1000 + 60

  const accepted = await site.call('v1:rows.count', {}, { requestId: 'count-1' })
  const pending = await site.poll('count-1')
  gate.open(7)
  const complete = await site.ended('count-1')
  clock.advance(MINUTE - 1)
  const last = await site.poll('count-1')
  clock.advance(1)
  const gone = await site.poll('count-1')

  expect(accepted.body).toMatchObject({ state: 'accepted', expiresAt })
  expect(pending.body).toMatchObject({ state: 'pending', expiresAt })
  expect(complete.body).toMatchObject({ state: 'complete', expiresAt, result: 7 })
  expect(last).toMatchObject({ status: 200, body: { result: 7 } })
  expect(gone).toMatchObject({ status: 404, body: { state: 'error', error: { code: 'NOT_FOUND' } } })
})

test('the chunks of a result go with it', async () => {
  verifies('opencall:092', 'opencall:112', 'opencall:131', 'opencall:174')
  const clock = createStepClock()
  const list = operation('v1:rows.list', {
    chunked: { mimeType: 'text/csv' },
    ttlSeconds: 60,
    run: () => ['a,b\n1,2\n'],
  })
  const site = await startSite({ operations: [list], clock })
  await site.call('v1:rows.list', {}, { requestId: 'list-1' })
  await site.ended('list-1')

  clock.advance(MINUTE - 1)
  const last = await site.request('/ops/list-1/chunks')
  clock.advance(1)
  const gone = await site.request('/ops/list-1/chunks')

  expect(await last.json()).toMatchObject({ state: 'complete', data: 'a,b\n1,2\n' })
  expect(gone.status).toBe(404)
  expect(await gone.json()).toMatchObject({ state: 'error', error: { code: 'NOT_FOUND' } })
})

test('a sync call is kept for its ttl; without a ttl it is not kept', async () => {
  verifies('opencall:090', 'opencall:271', 'opencall:272')
  const clock = createStepClock()
  const kept = operation('v1:sums.kept', { ttlSeconds: 30, run: () => 3 })
  const told = operation('v1:sums.told', { run: () => 3 })
  const site = await startSite({ operations: [kept, told], clock })

  const first = await site.call('v1:sums.kept', {}, { requestId: 'kept-1' })
  const second = await site.call('v1:sums.told', {}, { requestId: 'told-1' })
  const polled = await site.poll('kept-1')
  clock.advance(30_000)

  expect(first.body).toMatchObject({ state: 'complete', result: 3, expiresAt: clock.now() / 1000 })
  expect(polled).toMatchObject({ status: 200, body: { result: 3, expiresAt: clock.now() / 1000 } })
  expect((await site.poll('kept-1')).status).toBe(404)
  expect(second.body.expiresAt).toBeUndefined()
  expect((await site.poll('told-1')).status).toBe(404)
})

test('a call that has not ended by its expiry ends as a time-out, and its handler is notified', async () => {
  verifies('opencall:091', 'opencall:292')
  const clock = createStepClock()
  const stopped = Promise.withResolvers<unknown>()
  const endless = operation('v1:rows.endless', {
    model: 'async',
    ttlSeconds: 2,
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          stopped.resolve(ctx.signal.reason)
          reject(ctx.signal.reason)
        })
      }),
  })
  const site = await startSite({ operations: [endless], clock })
  const waiting = site.call('v1:rows.endless', {}, { requestId: 'endless-1' }, { headers: { Prefer: 'wait=60' } })

  await clock.timer(60_000)
  clock.advance(5_000)
  const answer = await waiting

  expect(answer).toMatchObject({ status: 500, body: { state: 'error', error: { code: 'PANIC_EXPIRED' } } })
  expect(await stopped.promise).toMatchObject({ kind: 'timeout' })
  expect((await site.poll('endless-1')).status).toBe(404)
})

test('an expired call is removed: its row, its result and its attachments', async () => {
  verifies('opencall:112')
  const clock = createStepClock()
  const data = temporaryFolder()
  const purged = Promise.withResolvers<readonly string[]>()
  const sqlite = createSqliteStore({ file: join(data, 'callplane.db'), clock })
  const store: Store = {
    ...sqlite,
    async expire(limit, removeObjects) {
      let expired: readonly string[] = []
      const removed = await sqlite.expire(limit, (ids) => {
        expired = ids
        return removeObjects(ids)
      })
      if (removed > 0) purged.resolve(expired)
      return removed
    },
  }
  let id = ''
  const stamp = operation('v1:papers.stamp', {
    model: 'async',
    ttlSeconds: 60,
    media: [{ name: 'paper', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
    async run(_args, ctx) {
      id = ctx.key
      return ctx.object(`${await ctx.media.paper?.text()} (stamped)`, { mimeType: 'text/plain' })
    },
  })
  const site = await startSite({ operations: [stamp], clock, data, store })
  const form = new FormData()
  const media = [{ name: 'paper', mimeType: 'text/plain', part: 'file' }]
  form.set('envelope', JSON.stringify({ op: 'v1:papers.stamp', media, ctx: { requestId: 'stamp-1' } }))
  form.set('file', new Blob(['paper'], { type: 'text/plain' }))
  expect((await site.request('/call', { method: 'POST', body: form })).status).toBe(202)
  const { body } = await site.ended('stamp-1')
  const object = new URL(body.location?.uri ?? '').pathname
  expect(await (await site.request(object)).text()).toBe('paper (stamped)')
  expect(filesBelow(join(data, 'objects')).length).toBeGreaterThan(0)

  clock.advance(MINUTE)
  const gone = await site.request(object)
  await clock.passing(purged.promise, 5_000)

  expect(gone.status).toBe(404)
  expect(await purged.promise).toEqual([id])
  expect(await store.get(id)).toBeUndefined()
  expect(filesBelow(join(data, 'objects'))).toEqual([])
})
