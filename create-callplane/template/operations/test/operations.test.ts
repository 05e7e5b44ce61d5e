/** Operations by themselves: schemas and failures are real, and no server is needed. */
import { runOperation } from 'callplane/testing'
import { expect, test } from 'vitest'
import { getOrder, refundOrder, trackParcel } from '../operations/index.ts'

test('an order has its item and price', async () => {
  const { result } = await runOperation(getOrder, { orderId: 'A-1' })

  expect(result).toEqual({ item: 'Lamp', price: 40 })
})

test('an unknown order is a failure that callers can expect', async () => {
  await expect(runOperation(getOrder, { orderId: 'none' })).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' })
})

test('a refund tells its progress', async () => {
  const { result, progress } = await runOperation(refundOrder, { orderId: 'A-1', amount: 20 })

  expect(result).toMatchObject({ refunded: 20 })
  expect(progress).toHaveLength(1)
})

test('a parcel ends at the door', async () => {
  const { frames } = await runOperation(trackParcel, { orderId: 'A-1' })

  expect(frames?.at(-1)).toEqual({ station: 'Your door', stationsLeft: 0 })
})
