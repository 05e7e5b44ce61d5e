/** A request id names one call of one caller: a repeat finds that call or is refused. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { createGate, startSite } from './server.ts'

test('the same request id with the same payload is the same call, with another payload it is refused', async () => {
  verifies('opencall:032', 'opencall:129')
  let runs = 0
  const note = operation('v1:notes.add', { model: 'async', run: () => ++runs })
  const site = await startSite({ operations: [note] })
  const ctx = { requestId: 'note-1' }
  await site.call('v1:notes.add', { text: 'a' }, ctx)
  await site.ended('note-1')

  const same = await site.call('v1:notes.add', { text: 'a' }, ctx)
  const other = await site.call('v1:notes.add', { text: 'b' }, ctx)

  expect(same.body).toMatchObject({ requestId: 'note-1', state: 'complete', result: 1 })
  expect(other).toMatchObject({
    status: 400,
    body: { requestId: 'note-1', state: 'error', error: { code: 'DUPLICATE_REQUEST_ID' } },
  })
  expect(runs).toBe(1)
})

test('the request id of a sync call is recognised if the call is kept', async () => {
  verifies('opencall:032', 'opencall:129')
  const gate = createGate<string>()
  let runs = 0
  const stopped: number[] = []
  const render = operation('v1:maps.render', {
    run: (_args, ctx) => {
      const run = ++runs
      if (run === 1) return gate.pass()
      return new Promise((_resolve, reject) =>
        ctx.signal.addEventListener('abort', () => {
          stopped.push(run)
          reject(ctx.signal.reason)
        }),
      )
    },
  })
  const draw = operation('v1:maps.draw', { run: (_args, ctx) => ctx.object('map', { mimeType: 'text/plain' }) })
  const site = await startSite({ operations: [render, draw] })
  const ctx = { requestId: 'map-1', timeoutMs: 0 }

  const first = await site.call('v1:maps.render', {}, ctx)
  const again = await site.call('v1:maps.render', {}, ctx)
  const other = await site.call('v1:maps.render', { zoom: 2 }, ctx)
  gate.open('a map')
  const drawn = [1, 2].map(() => site.call('v1:maps.draw', {}, { requestId: 'map-2' }))
  const [one, two] = await Promise.all(drawn)

  expect(again).toMatchObject({ status: 202, body: first.body })
  expect(other).toMatchObject({ status: 400, body: { error: { code: 'DUPLICATE_REQUEST_ID' } } })
  expect((await site.ended('map-1')).body.result).toBe('a map')
  expect(stopped).toEqual([2, 3])
  expect(one?.status).toBe(202)
  expect(two?.body).toEqual(one?.body)
  expect(await (await fetch(two?.body.location?.uri ?? '')).text()).toBe('map')
})
