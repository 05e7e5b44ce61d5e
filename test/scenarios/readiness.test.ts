/** `/ready` says whether calls should be sent here, and why not. */
import { join } from 'node:path'
import { operation, type Store } from 'callplane'
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import type { StoreTrouble } from '../../src/core/ports/store.ts'
import { createFileObjects } from '../../src/objects/files/index.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import type { ManualClock } from '../../src/testing/fakes/clock.ts'
import { createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

const OPERATIONS = [operation('v1:echo', { run: () => null })]

async function readiness(url: string) {
  const response = await fetch(`${url}/ready`)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** The checks run every five seconds. */
function nextRound(clock: ManualClock, url: string) {
  clock.advance(5_000)
  return readiness(url)
}

test('a server that can do its work is ready, check by check', async () => {
  const site = await startSite({ operations: OPERATIONS })

  expect(await readiness(site.url)).toEqual({
    status: 200,
    body: {
      status: 'ok',
      checks: {
        accepting: { ok: true },
        store: { ok: true },
        schema: { ok: true },
        clock: { ok: true },
        objects: { ok: true },
      },
    },
  })
})

test.each([
  ['migrations-pending', 'schema'],
  ['schema-newer', 'schema'],
  ['clock-jumped', 'clock'],
] as const)('a store that reports %s makes the server unready until it is over', async (trouble, check) => {
  const clock = createStepClock()
  const data = temporaryFolder()
  const found: StoreTrouble[] = [trouble]
  const store: Store = {
    ...createSqliteStore({ file: join(data, 'callplane.db'), clock }),
    troubles: async () => [...found],
  }
  const site = await startSite({ operations: OPERATIONS, data, store, clock })

  await expect
    .poll(() => nextRound(clock, site.url))
    .toMatchObject({
      status: 503,
      body: { status: trouble, checks: { [check]: { ok: false, reason: trouble }, store: { ok: true } } },
    })
  found.pop()

  await expect.poll(() => nextRound(clock, site.url)).toMatchObject({ status: 200, body: { status: 'ok' } })
})

test('objects that cannot be reached are named, and the server stays ready', async () => {
  const clock = createStepClock()
  const data = temporaryFolder()
  const bucket = { reachable: false }
  const files = createFileObjects({ folder: join(data, 'objects'), clock: systemClock })
  const objects: typeof files = {
    ...files,
    info: (id) => (bucket.reachable ? files.info(id) : Promise.reject(new Fault('unavailable', 'no bucket'))),
  }
  const site = await startSite({ operations: OPERATIONS, data, objects, clock })

  await expect
    .poll(() => nextRound(clock, site.url))
    .toMatchObject({
      status: 200,
      body: { status: 'degraded', checks: { objects: { ok: false, reason: 'objects-unavailable' } } },
    })
  bucket.reachable = true

  await expect.poll(() => nextRound(clock, site.url)).toMatchObject({ status: 200, body: { status: 'ok' } })
})

test('a draining server still takes connections, on which it says so, until its calls have ended', async () => {
  const gate = createGate<string>()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const site = await startSite({ operations: [build] })
  await site.call('v1:jobs.build')
  await gate.began

  const closing = site.close(60_000)
  const draining = await readiness(site.url)
  const refused = await site.call('v1:jobs.build')
  gate.open('built')
  await closing

  expect(draining).toMatchObject({
    status: 503,
    body: { status: 'draining', checks: { accepting: { ok: false, reason: 'draining' }, store: { ok: true } } },
  })
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'PANIC_SHUTTING_DOWN' } } })
  expect(refused.headers.get('connection')).toBe('close')
  await expect(fetch(`${site.url}/ready`)).rejects.toThrow()
})
