/** Dead letters are listed by operation and code, outlive their calls' retention, and can be dismissed. */
import { Fault, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import type { Done } from '../../../../src/engine/admin/calls/cancel.ts'
import type { NewPlace } from '../../places.ts'
import { openWorks } from '../operators.ts'

const DISMISS = 'v1:callplane.deadletters.dismiss'

export function deadLetterStories(newPlace: NewPlace): void {
  const open = (options: Partial<ServerOptions> = {}) => openWorks(options, newPlace)

  test('failures of tools are dead letters, and refusals of a handler are not', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 3)
    await works.make('ada', 'v1:shop.refuse', 1)

    const page = await works.dead()
    const first = await works.dead('reader', { limit: 2 })
    const second = await works.dead('reader', { limit: 2, after: first.next })

    expect(page.groups).toEqual([{ operation: 'v1:shop.pay', code: 'BANK_AWAY', count: 3, lastAt: expect.any(String) }])
    expect(page.calls).toHaveLength(3)
    expect(page.calls[0]).toMatchObject({
      deadLetter: true,
      kind: 'upstream',
      code: 'BANK_AWAY',
      owner: 'callplane|ada',
    })
    expect([...first.calls, ...second.calls]).toEqual(page.calls)
    expect(JSON.stringify(page)).not.toContain('args')
    expect((await works.dead('stranger')).calls).toEqual([])
  })

  test('a dismissed one is hidden, by its id or by a filter, and only once', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 4)
    await works.make('bob', 'v1:shop.pay', 2)
    const [one] = (await works.dead()).calls.map(({ id }) => id)

    const by = await works.result<Done>('operator', DISMISS, { ids: [one], why: 'known' })
    const again = await works.result<Done>('operator', DISMISS, { ids: [one], why: 'known' })
    const filter = { owner: 'callplane|ada' }
    const all = await works.result<Done>('operator', DISMISS, { filter, expected: 4, why: 'known' })
    const left = await works.dead()

    expect(by).toEqual({ done: [one], skipped: [] })
    expect(again).toEqual({ done: [], skipped: [{ id: one, why: 'It was dismissed or replayed before.' }] })
    expect(all.done).toHaveLength(4)
    expect(left.calls.map(({ owner }) => owner)).toEqual(['callplane|bob'])
    expect(left.groups).toMatchObject([{ count: 1 }])
    expect(await works.ids()).toHaveLength(6)
  })

  test('one tenant cannot dismiss what another has', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 1)
    const ids = await works.ids()

    const { done } = await works.result<Done>('stranger', DISMISS, { ids, why: 'x' })

    expect(done).toEqual([])
    expect((await works.dead()).calls).toHaveLength(1)
    expect((await works.as('reader', DISMISS, { ids, why: 'x' })).body.error?.code).toBe('UNKNOWN_OP')
  })

  /** A shop whose calls are kept for their callers for one second. */
  const openBrief = (options: Partial<ServerOptions> = {}) => {
    const pay = operation('v1:shop.pay', {
      model: 'async',
      ttlSeconds: 1,
      run: () => {
        throw new Fault('upstream', 'The bank is away.', { code: 'BANK_AWAY' })
      },
    })
    return open({ operations: [pay], ...options })
  }

  test('it is kept for fourteen days, although its caller no longer sees it', async () => {
    const works = await openBrief()
    const { body } = await works.as('ada', 'v1:shop.pay')
    await works.endedOf('ada', body.requestId)
    const [id = ''] = await works.ids()
    const status = async () => (await works.poll(body.requestId, works.people.ada.headers)).status

    await expect.poll(status, { timeout: 10_000 }).toBe(404)

    const { keepUntil = 0, expiresAt = 0, endedAt = 0 } = (await works.stored(id)) ?? {}
    expect((await works.dead()).calls.map((call) => call.id)).toEqual([id])
    expect(keepUntil - endedAt).toBe(14 * 86_400_000)
    expect(expiresAt - endedAt).toBeLessThanOrEqual(1_000)
  })

  test('the retention can be set, and never shortens that of a call', async () => {
    const works = await openBrief({ deadLetters: { keepDays: 0 } })
    // Without a key, which would keep it for a day.
    const { body } = await works.call('v1:shop.pay', {}, {}, { headers: works.people.ada.headers })
    await works.endedOf('ada', body.requestId)
    const { keepUntil = 0, expiresAt = 0 } = (await works.stored((await works.ids())[0] ?? '')) ?? {}

    expect(keepUntil).toBeGreaterThanOrEqual(expiresAt)
    await expect.poll(async () => (await works.dead()).calls, { timeout: 10_000 }).toEqual([])
  })
}
