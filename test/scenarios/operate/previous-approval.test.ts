/** An approver sees the last approved call of the same operation and caller. */
import { expect, test } from 'vitest'
import { type Desk, onlyOne, openDesk, policy } from '../approving.ts'

const get = async (desk: Desk, id: string, who: 'boss' | 'stranger' = 'boss') =>
  (await desk.as(who, 'v1:callplane.approvals.get', { id })).body

test('the previous approved call has its arguments, before and after the decision', async () => {
  const desk = await openDesk()
  await desk.refund(150, { requestId: 'r1' })
  const first = await onlyOne(desk)
  expect((await get(desk, first.id)).result).not.toHaveProperty('previous')
  await desk.decide(first.id)
  await desk.outcome('r1')

  await desk.refund(900, { requestId: 'r2' })
  const second = await onlyOne(desk)
  const before = await get(desk, second.id)
  await desk.decide(second.id)
  const after = await get(desk, second.id)

  const previous = { id: first.id, args: { amount: 150 }, decidedAt: expect.stringMatching(/^\d{4}-.*Z$/) }
  expect(before.result).toMatchObject({ previous })
  expect(after.result).toMatchObject({ previous })
})

test('denied calls, and calls of others, are not the previous one', async () => {
  const desk = await openDesk({ policy })
  await desk.refund(150, { requestId: 'r1' })
  await desk.decide((await onlyOne(desk)).id, 'deny')
  await desk.as('another', 'v1:orders.refund', { amount: 160 }, { requestId: 'r2' })
  await desk.decide((await onlyOne(desk)).id)

  await desk.refund(170, { requestId: 'r3' })
  const { id } = await onlyOne(desk)

  expect((await get(desk, id)).result).not.toHaveProperty('previous')
  expect((await get(desk, id, 'stranger')).error?.code).toBe('NOT_FOUND')
})
