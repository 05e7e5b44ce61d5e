/** The server's files on disk: readable by its user only, and with keys that are complete or missing, never partial. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createStepClock, startSite, temporaryFolder } from './server.ts'

const draw = operation('v1:art.draw', { run: (_args, ctx) => ctx.object('art', { mimeType: 'text/plain' }) })
const rows = operation('v1:art.rows', {
  model: 'async',
  chunked: { mimeType: 'text/csv' },
  async *run() {
    yield 'a,b\n'
  },
})
const job = operation('v1:art.job', { model: 'async', run: () => 'done' })
const OPERATIONS = [draw, rows]

test.skipIf(process.platform === 'win32')('only their user may read the files, in any folder', async () => {
  const data = join(temporaryFolder(), 'data')
  mkdirSync(data, 0o755)
  const site = await startSite({ operations: OPERATIONS, data })
  await site.call('v1:art.draw')
  await site.call('v1:art.rows', {}, { requestId: 'rows' })
  await site.ended('rows')

  const entries = readdirSync(data, { recursive: true, withFileTypes: true })
  const open = entries.filter((entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0)

  expect(entries.map(({ name }) => name)).toEqual(expect.arrayContaining(['callplane.db', 'link.key', 'objects']))
  expect(entries.length).toBeGreaterThan(6)
  expect(open.map(({ name }) => name)).toEqual([])
})

test('a key stays the same from start to start, and nothing unfinished is left beside it', async () => {
  const data = temporaryFolder()
  const first = await startSite({ operations: OPERATIONS, data })
  await first.close()
  const key = readFileSync(join(data, 'link.key'))

  const second = await startSite({ operations: OPERATIONS, data })
  await second.close()

  expect(key).toHaveLength(32)
  expect(readFileSync(join(data, 'link.key'))).toEqual(key)
  expect(readdirSync(data).filter((name) => name.includes('key'))).toEqual(['link.key'])
})

test.each([0, 31])('a key of %i bytes stops the start with advice, and stays as it is', async (bytes) => {
  const data = temporaryFolder()
  await (await startSite({ operations: OPERATIONS, data })).close()
  truncateSync(join(data, 'link.key'), bytes)

  const refused = createServer({ operations: OPERATIONS, data })

  await expect(refused).rejects.toMatchObject({
    code: 'KEY_DAMAGED',
    message: expect.stringMatching(/link\.key .*backup, or delete it.*links/),
  })
  expect(statSync(join(data, 'link.key')).size).toBe(bytes)
})

test('calls are refused while the data folder is gone, the server is not ready, and both end when it is back', async () => {
  const clock = createStepClock()
  const data = join(temporaryFolder(), 'data')
  const site = await startSite({ operations: [...OPERATIONS, job], data, clock })
  expect((await site.call('v1:art.job', {}, { requestId: 'before' })).status).toBe(202)
  await site.ended('before')

  renameSync(data, `${data}.moved`)
  // By then the store looks at its files again.
  clock.advance(10)
  const refused = await site.call('v1:art.job', {}, { requestId: 'during' })
  expect(refused).toMatchObject({
    status: 503,
    body: { error: { code: 'PANIC_STORAGE_GONE', message: expect.stringMatching(/nothing can be recorded/) } },
  })
  clock.advance(5_000)
  await expect.poll(async () => (await site.request('/ready')).status).toBe(503)
  expect(await (await site.request('/ready')).json()).toMatchObject({
    status: 'storage-unavailable',
    checks: { store: { ok: false, reason: 'storage-unavailable' }, accepting: { ok: true } },
  })
  expect((await site.poll('before')).body).toMatchObject({ state: 'complete' })

  rmSync(data, { recursive: true, force: true })
  renameSync(`${data}.moved`, data)
  expect((await site.call('v1:art.job', {}, { requestId: 'after' })).status).toBe(202)
  expect((await site.ended('after')).body).toMatchObject({ state: 'complete' })
  clock.advance(5_000)
  await expect.poll(async () => (await site.request('/ready')).status).toBe(200)
})

test('a start without the log of the database is refused until the loss is accepted', async () => {
  const clock = createStepClock()
  const data = temporaryFolder()
  const site = await startSite({ operations: [job], data, clock })
  await site.call('v1:art.job', {}, { requestId: 'kept' })
  await site.ended('kept')
  // By then the number of the last commit is in the file beside the database.
  clock.advance(10)
  const crashed = join(temporaryFolder(), 'crashed')
  cpSync(data, crashed, { recursive: true })
  rmSync(join(crashed, 'callplane.db-wal'))

  const refused = createServer({ operations: [job], data: crashed })
  await expect(refused).rejects.toMatchObject({
    code: 'STORAGE_LOST',
    message: expect.stringMatching(/lacks the last \d+ commits .*--accept-loss/),
  })

  const accepted = await startSite({ operations: [job], data: crashed, acceptLoss: true })
  expect((await accepted.poll('kept')).status).toBe(404)
})
