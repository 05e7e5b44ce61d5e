/** A sync operation, and an async one that is recorded before it runs. */
import { operation } from 'callplane'
import { z } from 'zod'

/** Stands for your database. */
const orders = new Map([
  ['A-1', { item: 'Lamp', price: 40 }],
  ['A-2', { item: 'Sofa', price: 900 }],
])

export const getOrder = operation('v1:orders.get', {
  description: 'One order, with its item and price.',
  args: z.object({ orderId: z.string() }),
  result: z.object({ item: z.string(), price: z.number() }),
  capabilities: ['data.read'],
  errors: { ORDER_NOT_FOUND: { description: 'There is no order with this id.' } },
  run: ({ orderId }, ctx) => orders.get(orderId) ?? ctx.fail('ORDER_NOT_FOUND', `There is no order ${orderId}.`),
})

export const refundOrder = operation('v1:orders.refund', {
  description: 'Gives money back for an order.',
  args: z.object({ orderId: z.string(), amount: z.number().positive() }),
  result: z.object({ refunded: z.number(), reference: z.string() }),
  capabilities: ['data.write'],
  model: 'async',
  sideEffecting: true,
  retry: { attempts: 3 },
  run({ orderId, amount }, ctx) {
    if (!orders.has(orderId)) return ctx.fail('ORDER_NOT_FOUND', `There is no order ${orderId}.`)
    ctx.progress(0.5, 'asking the bank')
    // Send ctx.key to your payment service. It is the same at every attempt, so the money moves once.
    return { refunded: amount, reference: ctx.key }
  },
})
