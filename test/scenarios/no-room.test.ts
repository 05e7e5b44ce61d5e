/**
 * The storage is full when calls end: their outcomes are kept and stored later, and nothing runs or is reported twice.
 */
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { createGate, createStepClock, type Site, type StepClock, startSite, temporaryFolder } from './server.ts'

const LARGE = 'x'.repeat(50_000)
const LEASE_MS = 30_000
/** Its calls expire soon, and their space is freed. */
const fill = operation('v1:room.fill', { model: 'async', ttlSeconds: 60, run: () => null })

interface Running {
  site: Site
  clock: StepClock
  lines: LogLine[]
  runs: { report: number; charge: number }
  finish(): void
}

/** A server with one megabyte of storage, and a report and a charge that run until the test releases them. */
async function startRunning(): Promise<Running> {
  const clock = createStepClock()
  const lines: LogLine[] = []
  const data = temporaryFolder()
  const runs = { report: 0, charge: 0 }
  const gate = createGate<void>()
  const wait = async (what: keyof typeof runs, result: string) => {
    runs[what]++
    await gate.pass()
    return result
  }
  const report = operation('v1:room.report', { model: 'async', run: () => wait('report', LARGE) })
  const charge = operation('v1:room.charge', { sideEffecting: true, run: () => wait('charge', `charged ${LARGE}`) })
  const store = createSqliteStore({ file: join(data, 'callplane.db'), clock, maxBytes: 1_000_000 })
  const log = createMemoryLog(lines)
  const site = await startSite({ operations: [fill, report, charge], data, clock, store, log })
  return { site, clock, lines, runs, finish: () => gate.open(undefined) }
}

async function fillUp(site: Site): Promise<void> {
  // Ever smaller ones: at the end there is hardly a page left.
  for (const bytes of [20_000, 5_000, 1_000, 10]) {
    for (let n = 0; ; n++) {
      const { status } = await site.call('v1:room.fill', { text: 'x'.repeat(bytes) }, { requestId: `${bytes}-${n}` })
      if (status === 503) break
      expect(status).toBe(202)
    }
  }
}

test('an outcome that does not fit on the disk is stored when there is space, even if its lease has run out', async () => {
  const { site, clock, lines, runs, finish } = await startRunning()
  await site.call('v1:room.report', {}, { requestId: 'report' })
  const charging = site.call('v1:room.charge', {}, { requestId: 'charge', idempotencyKey: 'k1' })
  await expect.poll(() => runs).toEqual({ report: 1, charge: 1 })
  await fillUp(site)

  finish()
  await expect.poll(() => kept(lines)).toEqual(['report', 'charge'])
  const charged = await clock.passing(charging)
  clock.advance(LEASE_MS)
  const meanwhile = await Promise.all([site.poll('report'), site.poll('charge')])
  clock.advance(LEASE_MS + 10_000)
  const [report, charge] = await clock.passing(Promise.all([site.ended('report'), site.ended('charge')]))

  expect(charged).toMatchObject({ status: 202, body: { state: 'pending' } })
  expect(meanwhile.map(({ body }) => body.state)).toEqual(['pending', 'pending'])
  expect(report.body).toMatchObject({ state: 'complete', result: LARGE })
  expect(charge.body).toMatchObject({ state: 'complete', result: `charged ${LARGE}` })
  expect(runs).toEqual({ report: 1, charge: 1 })
  // Its caller was told to poll, so it is kept longer than a call with a direct reply.
  expect((await site.poll('charge')).body).toMatchObject({ state: 'complete' })
})

test('a server without room stops in time, and says which outcomes are lost', async () => {
  const { site, clock, lines, runs, finish } = await startRunning()
  await site.call('v1:room.report', {}, { requestId: 'report' })
  await expect.poll(() => runs.report).toBe(1)
  await fillUp(site)
  finish()
  await expect.poll(() => kept(lines)).toEqual(['report'])

  await clock.passing(site.close(1_000))

  const lost = lines.filter(({ message }) => message.includes('it is lost'))
  expect(lost.map(({ fields }) => fields.requestId)).toContain('report')
})

function kept(lines: readonly LogLine[]): unknown[] {
  const found = lines.filter(({ message }) => message.includes('kept in memory and written later'))
  return found.map(({ fields }) => fields.requestId).filter((id) => id === 'report' || id === 'charge')
}
