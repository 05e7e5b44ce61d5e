/** A process that was paused for longer than its leases, like a laptop that slept, finds its own calls due. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type HandlerContext, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../src/testing/fakes/clock.ts'

const AN_HOUR = 3_600_000

test('after a pause longer than the lease, a running call continues and is not started a second time', async () => {
  const data = await mkdtemp(join(tmpdir(), 'callplane-paused-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  const clock = createManualClock()
  const release = Promise.withResolvers<void>()
  const started: string[] = []
  const run = async (_args: unknown, ctx: HandlerContext) => {
    started.push(`${ctx.requestId} ${ctx.attempt}`)
    await release.promise
    return ctx.requestId
  }
  const job = operation('v1:Long.Job', { model: 'async', run })
  const charge = operation('v1:Long.Charge', { sideEffecting: true, ttlSeconds: 86_400, run })
  const server = await createServer({ operations: [job, charge], data, clock })
  onTestFinished(() => server.close(0))
  const { url } = await server.listen({ port: 0 })
  for (const [op, id] of [
    ['v1:Long.Job', 'job'],
    ['v1:Long.Charge', 'charge'],
  ]) {
    const ctx = { requestId: id, idempotencyKey: id, timeoutMs: 0 }
    const headers = { 'Content-Type': 'application/json' }
    await fetch(`${url}/call`, { method: 'POST', headers, body: JSON.stringify({ op, ctx }) })
  }
  const state = async (id: string) => (await (await fetch(`${url}/ops/${id}`)).json()) as { state: string }

  clock.advance(AN_HOUR)
  // By now the calls have been found due, and their leases renewed.
  for (const id of ['job', 'charge']) expect(await state(id)).toMatchObject({ state: 'pending' })
  release.resolve()

  for (const id of ['job', 'charge']) {
    await expect.poll(() => state(id)).toMatchObject({ state: 'complete', result: id })
  }
  expect(started).toEqual(['job 1', 'charge 1'])
})
