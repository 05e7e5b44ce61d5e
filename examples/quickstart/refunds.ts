/** A call that may have to wait for a person, and the policy that says so. It holds for all operations of this folder. */
import { definePolicy, operation } from 'callplane'
import { z } from 'zod'

export const refund = operation('v1:Orders.Refund', {
  description: 'Refunds an amount. More than 100 waits until a person approves it.',
  args: z.object({
    orderId: z.string().meta({ examples: ['A-1001'] }),
    amount: z
      .number()
      .positive()
      .meta({ examples: [250] }),
  }),
  result: z.object({ refunded: z.number() }),
  sideEffecting: true,
  ttlSeconds: 3_600,
  run: ({ amount }) => ({ refunded: amount }),
})

export const server = {
  policy: definePolicy({
    default: 'allow',
    rules: [
      {
        id: 'large-refunds',
        effect: 'approve',
        what: { operation: 'v1:Orders.Refund' },
        when: { path: 'amount', gt: 100 },
        reason: 'Refunds above 100 need an approval.',
        approval: { ttlSeconds: 1_800 },
      },
    ],
  }),
}
