/** What is shown of a stream, and by which ids a call is found. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { readWithTicket } from '../../streams/sse.ts'
import { openOffice } from './office.ts'

test('a stream says when it ends, and has its counts after its end; its address and its ticket are not shown', async () => {
  const ticks = operation('v1:ticks', {
    frame: { type: 'integer' },
    ttlSeconds: 60,
    *run() {
      yield* [1, 2, 3]
    },
  })
  const office = await openOffice({ operations: [ticks] })
  const subscribed = await office.as('ada', 'v1:ticks', {}, { requestId: 'r1' })
  const id = await office.idOf('r1')
  const get = () => office.read<{ call: { state: string }; stream?: object }>('reader', 'calls.get', { id })

  const before = await get()
  await (await readWithTicket(subscribed)).rest()
  await office.ended('r1', office.headersOf('ada'))
  const after = await get()

  const facts = { transport: expect.any(String), encoding: 'json', endsAt: expect.any(String) }
  expect([before.call.state, before.stream]).toEqual(['streaming', { ...facts, awaited: true }])
  expect([after.call.state, after.stream]).toEqual(['complete', { ...facts, frames: 3, dropped: 0, ended: 'done' }])
})

test('a person finds their own call by its request id, and not the call of another', async () => {
  const note = operation('v1:note', { model: 'async', run: () => 'kept' })
  const office = await openOffice({ operations: [note] })
  await office.done('viewer', 'v1:note', 'mine')
  await office.done('ada', 'v1:note', 'hers')

  const { call } = await office.read<{ call: { id: string } }>('viewer', 'calls.get', { id: 'mine' })
  const { text } = await office.read<{ text: string }>('viewer', 'calls.payload', { id: 'mine', part: 'result' })
  const { body } = await office.as('viewer', 'v1:callplane.calls.get', { id: 'hers' })

  expect([call.id, text]).toEqual([await office.idOf('mine'), '"kept"'])
  expect(body.error?.code).toBe('NOT_FOUND')
  const { entries } = await office.read<{ entries: { about?: object }[] }>('viewer', 'audit.list', {
    operation: 'v1:callplane.calls.payload@1.0.0',
  })
  expect(entries[0]?.about).toEqual({ call: call.id, part: 'result' })
})
