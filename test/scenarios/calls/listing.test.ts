/** Lists of calls in SQLite. test/nodes/operate.test.ts has the same stories for Postgres. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { inSqlite } from '../places.ts'
import { listingStories } from './listing-stories.ts'
import { openOffice } from './office.ts'

listingStories(inSqlite)

const add = operation('v1:notes.add', { model: 'async', run: () => null })

test.each([
  { after: 'x' },
  { after: "'; DROP TABLE instances; --" },
  { parent: '%' },
  { state: [] },
  { state: ['done'] },
  { limit: 201 },
  { limit: 0 },
  { text: 'x'.repeat(501) },
  { since: 'yesterday' },
  { unknown: 1 },
  { minMs: -1 },
])('a filter that makes no sense is refused: %j', async (filter) => {
  const office = await openOffice({ operations: [add] })

  const { body } = await office.as('viewer', 'v1:callplane.calls.list', filter)

  expect(body.error?.code).toBe('VALIDATION_ERROR')
})
