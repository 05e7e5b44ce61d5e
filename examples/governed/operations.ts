/** Two operations under the policy in this folder, and its three callers. README.md lists the commands to try. */
import { operation, type ServerOptions } from 'callplane'
import { z } from 'zod'

const ORDERS: Record<string, { item: string; price: number }> = {
  'A-1': { item: 'lamp', price: 20 },
  'A-2': { item: 'sofa', price: 500 },
}

export const find = operation('v1:orders.find', {
  description: 'Returns one order.',
  args: z.object({ orderId: z.string() }),
  result: z.object({ item: z.string(), price: z.number() }),
  capabilities: ['data.read'],
  run: ({ orderId }, ctx) => ORDERS[orderId] ?? ctx.fail('ORDER_NOT_FOUND', `There is no order ${orderId}.`),
})

export const refund = operation('v1:orders.refund', {
  description: 'Refunds an amount.',
  args: z.object({ orderId: z.string(), amount: z.number().positive() }),
  result: z.object({ refunded: z.number() }),
  capabilities: ['external.side_effect'],
  risk: 'medium',
  sideEffecting: true,
  // The outcome is kept for an hour, so that a caller that waited for an approval can still fetch it.
  ttlSeconds: 3_600,
  run: ({ amount }) => ({ refunded: amount }),
})

/**
 * Only hashes are stored here. `callplane token` creates a token and its hash. The tokens of this example are in
 * README.md.
 */
export const server: Partial<ServerOptions> = {
  auth: {
    tokens: [
      {
        hash: 'sha256:8ce2222c49e2dbbf96d24be04cf647ed85818d80426858e5e9ffdf5c83e98985',
        kind: 'bearer',
        subject: 'support-desk',
        scopes: [],
      },
      {
        hash: 'sha256:cc2cfeb67f3f1e1f5254470227a933c36ade2e6a771b7c06c368fee33346bca8',
        kind: 'bearer',
        subject: 'team-lead',
        scopes: ['callplane:approve'],
      },
      {
        hash: 'sha256:4830e3f652e528926251cb024c5261c2e4a9a740831fffa484091300d9eddfa0',
        kind: 'bearer',
        subject: 'nightly-report',
        scopes: [],
      },
    ],
  },
}
