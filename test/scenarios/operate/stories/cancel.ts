/** Operators cancel calls of others, by their ids or by a filter that matches what they saw. */
import type { ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import type { Done } from '../../../../src/engine/admin/calls/cancel.ts'
import type { NewPlace } from '../../places.ts'
import { openWorks } from '../operators.ts'

const CANCEL = 'v1:callplane.calls.cancel'

export function cancelStories(newPlace: NewPlace): void {
  const open = (options: Partial<ServerOptions> = {}) => openWorks(options, newPlace)

  test('open calls of another caller end, and ended ones are skipped', async () => {
    const works = await open()
    const staying = [await works.as('ada', 'v1:shop.stay'), await works.as('bob', 'v1:shop.stay')]
    await works.make('ada', 'v1:shop.refuse', 1)
    const filter = { operation: 'v1:shop.*' }
    const ids = await works.ids()

    const { done, skipped } = await works.result<Done>('operator', CANCEL, { filter, expected: 3, why: 'too many' })

    expect([...done, ...skipped.map(({ id }) => id)].sort()).toEqual([...ids].sort())
    expect(skipped).toEqual([{ id: expect.any(String), why: 'It has ended.' }])
    const ends = [
      await works.endedOf('ada', staying[0]?.body.requestId ?? ''),
      await works.endedOf('bob', staying[1]?.body.requestId ?? ''),
    ]
    for (const { body } of ends) expect(body.error?.code).toBe('CANCELED')
  })

  test('a filter that matches another number by now is refused, and nothing is canceled', async () => {
    const works = await open()
    const { body: first } = await works.as('ada', 'v1:shop.stay')

    const { body } = await works.as('operator', CANCEL, { filter: { owner: 'callplane|ada' }, expected: 2, why: 'x' })

    expect(body.error).toMatchObject({ code: 'SELECTION_CHANGED', cause: { expected: 2, found: 1 } })
    expect((await works.poll(first.requestId, works.people.ada.headers)).body.state).toBe('pending')
  })

  test('calls of another tenant cannot be canceled, and look like none', async () => {
    const works = await open()
    const { body: first } = await works.as('ada', 'v1:shop.stay')
    const alone = await works.result<Done>('stranger', CANCEL, { filter: {}, expected: 0, why: 'not itself' })
    expect(alone.done).toEqual([])
    const [id] = await works.ids()

    const by = await works.result<Done>('stranger', CANCEL, { ids: [id, 'nothing'], why: 'x' })
    const all = await works.result<Done>('stranger', CANCEL, {
      filter: { operation: 'v1:shop.*' },
      expected: 0,
      why: 'x',
    })

    const why = 'There is no such call, or it has expired.'
    expect(by).toEqual({
      done: [],
      skipped: [
        { id, why },
        { id: 'nothing', why },
      ],
    })
    expect(all.done).toEqual([])
    expect((await works.poll(first.requestId, works.people.ada.headers)).body.state).toBe('pending')
  })

  test('a reader may not cancel, and requests without end are refused', async () => {
    const works = await open()
    const many = Array.from({ length: 201 }, (_, at) => `id-${at}`)
    const refused = [
      { ids: many, why: 'x' },
      { ids: ['a'] },
      { why: 'x' },
      { filter: {}, why: 'x' },
      { ids: ['a'], filter: {}, expected: 0, why: 'x' },
      { filter: { operation: 'x'.repeat(10_000) }, expected: 0, why: 'x' },
      { filter: { state: ['gone'] }, expected: 0, why: 'x' },
      { filter: { unknown: 1 }, expected: 0, why: 'x' },
    ]

    for (const args of refused)
      expect((await works.as('operator', CANCEL, args)).body.error?.code).toBe('VALIDATION_ERROR')
    expect((await works.as('reader', CANCEL, { ids: ['a'], why: 'x' })).body.error?.code).toBe('UNKNOWN_OP')
    const text = { filter: { text: 'secret' }, expected: 0, why: 'x' }
    expect((await works.as('operator', CANCEL, text)).body.error?.code).toBe('INSUFFICIENT_SCOPE')
  })

  test('the audit trail has the reason that the operator gave', async () => {
    const works = await open()
    await works.result<Done>('operator', CANCEL, { ids: ['nothing'], why: 'Too "many".' })

    const { entries } = await works.result<{ entries: object[] }>('reader', 'v1:callplane.audit.list', {
      operation: CANCEL,
    })

    expect(entries).toMatchObject([{ owner: 'callplane|operator', about: { why: 'Too "many".' } }])
  })
}
