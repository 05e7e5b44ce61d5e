import { expect, test } from 'vitest'
import { createBudget } from '../../../src/objects/s3/budget.ts'
import { PartBuffer } from '../../../src/objects/s3/part-buffer.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'

test('those who find no room wait in their order, and small ones do not overtake', async () => {
  const budget = createBudget(100, 1_000, createManualClock())
  const entered: string[] = []
  const take = (name: string, bytes: number) => budget.take(bytes).then(() => void entered.push(name))
  await take('first', 80)

  const waiting = [take('large', 90), take('small', 10)]
  await Promise.resolve()
  expect(entered).toEqual(['first'])
  budget.give(80)
  await Promise.all(waiting)

  expect(entered).toEqual(['first', 'large', 'small'])
})

test('one who waits too long fails with a hint, and those behind it go on', async () => {
  const clock = createManualClock()
  const budget = createBudget(100, 1_000, clock)
  await budget.take(60)
  const large = budget.take(50)
  clock.advance(500)
  const small = budget.take(40)

  clock.advance(500)

  await expect(large).rejects.toMatchObject({ kind: 'unavailable', code: 'STORAGE_BUSY', retryAfterMs: 2_000 })
  await small
})

test('a part takes room as it grows, and gives all of it back', async () => {
  const clock = createManualClock()
  const budget = createBudget(100_000, 1_000, clock)
  const part = new PartBuffer(budget, 60_000)
  const source = Buffer.alloc(40_000, 1)

  expect(await part.append(source)).toBe(40_000)
  source.fill(2)
  expect(await part.append(source)).toBe(20_000)

  expect([part.isFull, part.bytes.length, part.bytes[39_999], part.bytes[40_000]]).toEqual([true, 60_000, 1, 2])
  const other = budget.take(50_000)
  part.release()
  await other
  part.release()
  const tooMuch = budget.take(50_001)
  clock.advance(1_000)
  await expect(tooMuch).rejects.toMatchObject({ code: 'STORAGE_BUSY' })
})
