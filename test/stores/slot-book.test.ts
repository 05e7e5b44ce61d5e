import { expect, test } from 'vitest'
import { SlotBook } from '../../src/stores/postgres/peers/slot-book.ts'

const FULL = { granted: 0, contested: true, elsewhere: true }

test('a slot is reserved for a queued call that asks while others give up', async () => {
  const book = new SlotBook('v1:press.print@1.0.0')
  const direct = book.ask(1, false)
  book.request(0, false)
  expect(book.take(FULL, 0)).toEqual({ kept: false, awaits: true })

  const queued = book.ask(1, true)
  book.request(30, false)
  book.giveUp(310)
  book.take(FULL, 70)

  expect(await direct).toBe(false)
  expect(await queued).toBe(false)
  expect(book.request(1_000, true)).toMatchObject({ wants: 1 })
  expect(book.take({ granted: 1, contested: false, elsewhere: false }, 1_010)).toMatchObject({ kept: true })
})
