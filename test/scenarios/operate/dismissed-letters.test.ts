/** A page of dead letters beside many that were dealt with. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OpenStore } from '../../../src/core/ports/store.ts'
import type { Done } from '../../../src/engine/admin/calls/cancel.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { inSqlite } from '../places.ts'
import { temporaryFolder } from '../server.ts'
import { openWorks } from './operators.ts'

const DISMISS = 'v1:callplane.deadletters.dismiss'

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
  const works = await openWorks({}, () => ({ ...inSqlite(), store }))
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
