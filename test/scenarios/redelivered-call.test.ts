/**
 * A call from a carrier that redelivers is found again after it has ended, however short its retention is. A call without
 * side effects leaves no record, and runs again.
 */
import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/core/call/caller.ts'
import { createStepClock, startSite } from './server.ts'

test('a call without side effects is not recorded, also if its message may be delivered again', async () => {
  let runs = 0
  const count = operation('v1:it.counts', { run: () => ++runs })
  const { server, poll } = await startSite({ operations: [count] })
  const call = { operation: 'v1:it.counts', args: {}, media: [], requestId: 'ops:0:7' }
  const deliver = async () => server.engine.call(call, () => ANONYMOUS, { redelivers: true })

  const replies = [await deliver(), await deliver()]

  expect(replies).toMatchObject([{ result: 1 }, { result: 2 }])
  expect((await poll('ops:0:7')).status).toBe(404)
})

test('a message that is delivered again after its call has ended does not run the handler again', async () => {
  let runs = 0
  const charge = operation('v1:cards.charge', {
    args: jsonSchema<object>({ type: 'object' }),
    result: jsonSchema<number>({ type: 'integer' }),
    sideEffecting: true,
    idempotencyRequired: false,
    run: async () => ++runs,
  })
  const clock = createStepClock()
  const { server } = await startSite({ operations: [charge], clock })
  const call = { operation: 'v1:cards.charge', args: {}, media: [], requestId: 'ops:0:7' }
  const deliver = async () => server.engine.call(call, () => ANONYMOUS, { redelivers: true })

  const first = await deliver()
  // Long enough for several rounds of maintenance.
  await clock.passing(new Promise<void>((resolve) => void clock.schedule(60_000, resolve)))
  const second = await deliver()

  expect(first).toMatchObject({ state: 'complete', result: 1 })
  expect(second).toMatchObject({ state: 'complete', result: 1 })
  expect(runs).toBe(1)
})
