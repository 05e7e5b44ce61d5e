/** The lenient readings of request ids, and the option that turns them off. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { startSite } from './server.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ping = operation('v1:status.ping', { run: () => 'pong' })

test('by default a ctx may leave the request id out, and it may be any plain word', async () => {
  verifies('opencall:030', 'opencall:032')
  const site = await startSite({ operations: [ping] })

  const generated = await site.call('v1:status.ping', {}, { sessionId: 's1' })
  const named = await site.call('v1:status.ping', {}, { requestId: 'order:7_a.b~c-D' })
  const longest = await site.call('v1:status.ping', {}, { requestId: 'x'.repeat(128) })

  expect(generated.body).toMatchObject({ sessionId: 's1', result: 'pong' })
  expect(generated.body.requestId).toMatch(UUID)
  expect(named.body.requestId).toBe('order:7_a.b~c-D')
  expect(longest.status).toBe(200)
  for (const requestId of ['', 'x'.repeat(129), 'a b', 'a/b', 'ä', '../x']) {
    const refused = await site.call('v1:status.ping', {}, { requestId })
    expect(refused, requestId).toMatchObject({ status: 400, body: { error: { cause: { field: 'ctx.requestId' } } } })
    expect(refused.body.requestId).toMatch(UUID)
  }
})

test('strictly, a ctx has a request id and it is a UUID; without a ctx one is generated', async () => {
  verifies('opencall:029', 'opencall:030', 'opencall:031', 'opencall:130')
  const site = await startSite({ operations: [ping], opencall: { strict: true } })
  const requestId = '0191e2a4-6f2b-4c3d-8e5f-aabbccddeeff'

  const missing = await site.call('v1:status.ping', {}, { sessionId: 's1' })
  const word = await site.call('v1:status.ping', {}, { requestId: 'order-7' })
  const good = await site.call('v1:status.ping', {}, { requestId })
  const without = await site.call('v1:status.ping')

  for (const refused of [missing, word]) {
    expect(refused).toMatchObject({ status: 400, body: { state: 'error', error: { code: 'INVALID_REQUEST' } } })
  }
  expect(missing.body.requestId).toMatch(UUID)
  expect(good.body).toEqual({ requestId, state: 'complete', result: 'pong' })
  expect(without.status).toBe(200)
  expect(without.body.requestId).toMatch(UUID)
})

test('an operation that returns nothing has the result null', async () => {
  verifies('opencall:003', 'opencall:061')
  const nothing = operation('v1:status.nothing', { run: () => undefined })
  const later = operation('v1:status.later', { model: 'async', run: async () => undefined })
  const site = await startSite({ operations: [nothing, later] })

  const direct = await site.call('v1:status.nothing', {}, { requestId: 'r1' })
  await site.call('v1:status.later', {}, { requestId: 'r2' })

  expect(direct.body).toEqual({ requestId: 'r1', state: 'complete', result: null })
  expect((await site.ended('r2')).body).toMatchObject({ state: 'complete', result: null })
})
