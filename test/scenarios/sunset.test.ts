/** An operation with a sunset date: served until the last second of that day, and reported as removed afterwards. */
import { Fault, operation, removed } from 'callplane'
import { expect, test } from 'vitest'
import type { RegistryEntry } from '../../src/protocols/opencall/wire.ts'
import { verifies } from '../requirements.ts'
import { ask } from './mcp.ts'
import { createStepClock, type Site, startSite } from './server.ts'

const LAST_SECOND = Date.UTC(2026, 5, 30, 23, 59, 59)

const old = operation('v1:users.find', {
  deprecated: { sunset: '2026-06-30', replacement: 'v2:users.find' },
  run: () => 'found by v1',
})
const current = operation('v2:users.find', { run: () => 'found by v2' })

async function readRegistry(site: Site, headers: Record<string, string> = {}) {
  const response = await site.request('/.well-known/ops', { headers })
  const text = await response.text()
  const entries = text === '' ? [] : (JSON.parse(text) as { operations: RegistryEntry[] }).operations
  return { status: response.status, etag: response.headers.get('ETag') ?? '', entries }
}

test('a deprecated operation is served with its successor until the end of its sunset day, then it is 410', async () => {
  verifies(
    'opencall:015',
    'opencall:016',
    'opencall:114',
    'opencall:134',
    'opencall:135',
    'opencall:213',
    'opencall:230',
  )
  verifies('opencall:265', 'opencall:266')
  const clock = createStepClock(LAST_SECOND)
  const site = await startSite({ operations: [old, current], clock })

  const early = await site.call('v1:users.find')
  clock.advance(999)
  const last = await site.call('v1:users.find')
  clock.advance(1)
  const gone = await site.call('v1:users.find', {}, { requestId: 'find-1' })
  const successor = await site.call('v2:users.find')

  expect(early).toMatchObject({ status: 200, body: { result: 'found by v1' } })
  expect(last).toMatchObject({ status: 200, body: { result: 'found by v1' } })
  expect(gone).toMatchObject({
    status: 410,
    body: {
      requestId: 'find-1',
      state: 'error',
      error: { code: 'OP_REMOVED', cause: { removedOp: 'v1:users.find', replacement: 'v2:users.find' } },
    },
  })
  expect(successor.body.result).toBe('found by v2')
})

test('the registry drops it at that moment, and its ETag changes with it', async () => {
  verifies('opencall:230', 'opencall:262', 'opencall:264', 'opencall:267', 'opencall:279')
  const clock = createStepClock(LAST_SECOND)
  const site = await startSite({ operations: [old, current], clock })

  const before = await readRegistry(site)
  const same = await readRegistry(site, { 'If-None-Match': before.etag })
  clock.advance(1_000)
  const after = await readRegistry(site, { 'If-None-Match': before.etag })

  expect(before.entries.find(({ op }) => op === 'v1:users.find')).toMatchObject({
    deprecated: true,
    sunset: '2026-06-30',
    replacement: 'v2:users.find',
  })
  const successor = before.entries.find(({ op }) => op === 'v2:users.find')
  for (const field of ['deprecated', 'sunset', 'replacement']) expect(successor).not.toHaveProperty(field)
  expect(same.status).toBe(304)
  expect(after.status).toBe(200)
  expect(after.etag).not.toBe(before.etag)
  expect(after.entries.map(({ op }) => op)).toEqual(['v2:users.find'])
})

test('a call accepted before the sunset is finished and can be polled after it', async () => {
  const clock = createStepClock(LAST_SECOND)
  const gate = Promise.withResolvers<string>()
  const build = operation('v1:users.export', {
    model: 'async',
    deprecated: { sunset: '2026-06-30' },
    run: () => gate.promise,
  })
  const site = await startSite({ operations: [build], clock })
  await site.call('v1:users.export', {}, { requestId: 'export-1' })

  clock.advance(1_000)
  const refused = await site.call('v1:users.export')
  gate.resolve('exported')

  expect(refused.status).toBe(410)
  expect(refused.body.error?.cause).not.toHaveProperty('replacement')
  expect((await site.ended('export-1')).body.result).toBe('exported')
})

test('a tombstone answers for an operation whose code is gone, and is not listed', async () => {
  verifies('opencall:114', 'opencall:134', 'opencall:135', 'opencall:213')
  const site = await startSite({
    operations: [
      removed('v1:users.find', { on: '2025-03-01', replacement: 'v2:users.find' }),
      removed('v1:users.purge', { on: '2025-03-01' }),
      current,
    ],
  })

  const moved = await site.call('v1:users.find', { any: 'args' })
  const ended = await site.call('v1:users.purge')

  expect(moved).toMatchObject({
    status: 410,
    body: { error: { code: 'OP_REMOVED', cause: { replacement: 'v2:users.find' } } },
  })
  expect(ended).toMatchObject({
    status: 410,
    body: { error: { code: 'OP_REMOVED', cause: { removedOp: 'v1:users.purge' } } },
  })
  expect((await readRegistry(site)).entries.map(({ op }) => op)).toEqual(['v2:users.find'])
})

test('a version without its v1, a bad date, and a name both served and removed are refused at start', async () => {
  verifies('opencall:014', 'opencall:264')
  await expect(startSite({ operations: [current] })).rejects.toThrow(/no v1/)
  const badDate = operation('v1:users.find', { deprecated: { sunset: '30.6.2026' }, run: () => 0 })
  await expect(startSite({ operations: [badDate] })).rejects.toThrow(/is not a date/)
  const both = [old, current, removed('v1:users.find', { on: '2025-03-01' })]
  await expect(startSite({ operations: both })).rejects.toThrow(/both defined and listed as removed/)
})

test('with opencall.listRemoved what is gone stays in the registry as its tombstone, and nowhere else', async () => {
  verifies('opencall:266', 'opencall:276')
  const clock = createStepClock(LAST_SECOND)
  const hidden = operation('v1:users.audit', {
    internal: true,
    scopes: ['callplane:admin'],
    deprecated: { sunset: '2026-06-30' },
    run: () => 0,
  })
  const site = await startSite({
    operations: [old, hidden, removed('v1:users.purge', { on: '2025-03-01' }), current],
    opencall: { listRemoved: true },
    mcp: { shape: 'call' },
    clock,
  })

  const before = await readRegistry(site)
  clock.advance(1_000)
  const after = await readRegistry(site, { 'If-None-Match': before.etag })
  const gone = await site.call('v1:users.find')
  const found = await ask(site, 'tools/call', { name: 'search', arguments: { query: 'users' } })
  const tools = (await (await site.request('/tools')).json()) as { name: string }[]

  const purged = { op: 'v1:users.purge', deprecated: true, sunset: '2025-03-01', removed: true }
  expect(before.entries.map(({ op }) => op)).toEqual(['v1:users.find', 'v2:users.find', 'v1:users.purge'])
  expect(before.entries.find(({ op }) => op === 'v1:users.find')).not.toHaveProperty('removed')
  expect(after.status).toBe(200)
  expect(after.entries.map(({ op }) => op)).toEqual(['v2:users.find', 'v1:users.find', 'v1:users.purge'])
  expect(after.entries.slice(1)).toEqual([
    {
      op: 'v1:users.find',
      deprecated: true,
      sunset: '2026-06-30',
      replacement: 'v2:users.find',
      removed: true,
    },
    purged,
  ])
  expect(gone.status).toBe(410)
  expect(found.json.result.structuredContent.operations.map(({ op }) => op)).toEqual(['v2:users.find'])
  expect(JSON.stringify(tools)).not.toContain('purge')
})

test('a handler that throws a removed fault gets the response of a removed operation', async () => {
  verifies('opencall:114', 'opencall:134', 'opencall:135', 'opencall:213')
  const sold = operation('v1:shop.buy', {
    run: () => {
      throw new Fault('removed', 'The shop has closed.', { details: { replacement: 'v1:mall.buy' } })
    },
  })
  const named = operation('v1:shop.sell', {
    run: () => {
      throw new Fault('removed', 'The shop has closed.', { code: 'CLOSED', details: { removedOp: 'v1:shop.trade' } })
    },
  })
  const site = await startSite({ operations: [sold, named] })

  expect(await site.call('v1:shop.buy', {}, { requestId: 'buy-1' })).toMatchObject({
    status: 410,
    body: {
      requestId: 'buy-1',
      state: 'error',
      error: {
        code: 'OP_REMOVED',
        message: 'The shop has closed.',
        cause: { removedOp: 'v1:shop.buy', replacement: 'v1:mall.buy' },
      },
    },
  })
  expect(await site.call('v1:shop.sell')).toMatchObject({
    status: 410,
    body: { error: { code: 'OP_REMOVED', cause: { removedOp: 'v1:shop.trade' } } },
  })
})
