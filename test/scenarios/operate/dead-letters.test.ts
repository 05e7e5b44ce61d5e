/** Dead letters are listed by operation and code, outlive their calls' retention, and can be dismissed. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OpenStore } from '../../../src/core/ports/store.ts'
import type { Done } from '../../../src/engine/admin/calls/cancel.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createStepClock, temporaryFolder } from '../server.ts'
import { openWorks } from './operators.ts'

const DISMISS = 'v1:callplane.deadletters.dismiss'

test('failures of tools are dead letters, and refusals of a handler are not', async () => {
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 3)
  await works.make('ada', 'v1:shop.refuse', 1)

  const page = await works.dead()
  const first = await works.dead('reader', { limit: 2 })
  const second = await works.dead('reader', { limit: 2, after: first.next })

  expect(page.groups).toEqual([{ operation: 'v1:shop.pay', code: 'BANK_AWAY', count: 3, lastAt: expect.any(String) }])
  expect(page.calls).toHaveLength(3)
  expect(page.calls[0]).toMatchObject({ deadLetter: true, kind: 'upstream', code: 'BANK_AWAY', owner: 'callplane|ada' })
  expect([...first.calls, ...second.calls]).toEqual(page.calls)
  expect(JSON.stringify(page)).not.toContain('args')
  expect((await works.dead('stranger')).calls).toEqual([])
})

test('a dismissed one is hidden, by its id or by a filter, and only once', async () => {
  const works = await openWorks()
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
  const works = await openWorks()
  await works.make('ada', 'v1:shop.pay', 1)
  const ids = await works.ids()

  const { done } = await works.result<Done>('stranger', DISMISS, { ids, why: 'x' })

  expect(done).toEqual([])
  expect((await works.dead()).calls).toHaveLength(1)
  expect((await works.as('reader', DISMISS, { ids, why: 'x' })).body.error?.code).toBe('UNKNOWN_OP')
})

test('it is kept for fourteen days, although its caller no longer sees it', async () => {
  const clock = createStepClock(Date.parse('2026-01-01T00:00:00Z'))
  const works = await openWorks({ clock })
  await clock.passing(works.make('ada', 'v1:shop.pay', 1))
  const { keepUntil = 0, expiresAt = 0, endedAt = 0 } = (await works.stored((await works.ids())[0] ?? '')) ?? {}

  expect(keepUntil - endedAt).toBe(14 * 86_400_000)
  expect(expiresAt - endedAt).toBeLessThan(86_400_000)
})

test('the retention can be set, and never shortens that of a call', async () => {
  const works = await openWorks({ deadLetters: { keepDays: 0 } })
  await works.make('ada', 'v1:shop.pay', 1)
  const { keepUntil = 0, expiresAt = 0 } = (await works.stored((await works.ids())[0] ?? '')) ?? {}

  expect(keepUntil).toBeGreaterThanOrEqual(expiresAt)
})

test('a page does not read each of those that were dealt with by itself', async () => {
  let pages = 0
  const store: OpenStore = async ({ clock, log }) => {
    const opened = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock, log })
    const page: typeof opened.calls.page = (query) => {
      pages++
      return opened.calls.page(query)
    }
    return { ...opened, calls: { ...opened.calls, page } }
  }
  const works = await openWorks({ store })
  await works.make('ada', 'v1:shop.pay', 40)
  await works.result<Done>('operator', DISMISS, { filter: {}, expected: 40, why: 'known' })
  await works.make('bob', 'v1:shop.pay', 3)

  pages = 0
  const first = await works.dead('reader', { limit: 2 })
  const second = await works.dead('reader', { limit: 2, after: first.next })

  expect([...first.calls, ...second.calls].map(({ owner }) => owner)).toEqual(Array(3).fill('callplane|bob'))
  expect(first.groups).toMatchObject([{ count: 3 }])
  expect(second).toMatchObject({ complete: true, groups: [] })
  expect(second.next).toBeUndefined()
  // One for the first page, one for its groups, and three for the second page, each larger than the one before.
  expect(pages).toBe(5)
})
