/** A small company for the tests and pictures of the console: its operations, policy, callers, and what they have done. */
import { hashToken, operation, type ServerOptions } from 'callplane'
import { z } from 'zod'
import * as quickstart from '../../examples/quickstart/operations.ts'

/** The tokens of the callers, by subject. */
export const TOKENS = {
  operator: 'operator-token-of-the-tests',
  support: 'support-token-of-the-tests',
  nobody: 'nobody-token-of-the-tests',
}

const ALL = ['read', 'payloads', 'operate', 'replay', 'approve', 'audit', 'metrics'].map(
  (scope) => `callplane:${scope}`,
)

export const refund = operation('v1:orders.refund', {
  description: 'Refunds an amount to the customer of an order.',
  args: z.object({
    orderId: z.string(),
    amount: z.number().positive(),
    currency: z.string().default('EUR'),
    note: z.string().optional(),
  }),
  result: z.object({ refunded: z.number() }),
  risk: 'high',
  sideEffecting: true,
  idempotencyRequired: false,
  ttlSeconds: 86_400,
  run: ({ amount }) => ({ refunded: amount }),
})

/** Fails as its arguments say: now, or until its last attempt. */
export const ship = operation('v1:orders.ship', {
  description: 'Hands a parcel to the carrier.',
  args: z.object({ orderId: z.string(), fails: z.int().default(0), breaks: z.boolean().default(false) }),
  result: z.object({ parcel: z.string() }),
  model: 'async',
  ttlSeconds: 86_400,
  retry: { attempts: 3, backoffMs: 1 },
  errors: {
    CARRIER_AWAY: { description: 'The carrier does not answer.', remedy: 'Try again later.', retryable: true },
  },
  run({ orderId, fails, breaks }, ctx) {
    if (breaks) throw new Error('The label printer is on fire.')
    if (ctx.attempt <= fails) return ctx.fail('CARRIER_AWAY', 'The carrier does not answer.', { retryable: true })
    return { parcel: `P-${orderId}` }
  },
})

/** Runs until it is canceled. */
export const watchStock = operation('v1:stock.reconcile', {
  description: 'Compares the stock with the shelves, one by one.',
  args: z.object({ warehouse: z.string() }),
  result: z.object({ shelves: z.int() }),
  model: 'async',
  ttlSeconds: 86_400,
  async run(_args, ctx) {
    ctx.progress(0.4, 'shelf 48 of 120')
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    return { shelves: 0 }
  },
})

export function worldOptions(): ServerOptions {
  const token = (subject: keyof typeof TOKENS, scopes: string[]) => ({
    hash: hashToken(TOKENS[subject]),
    kind: 'bearer' as const,
    subject,
    scopes,
  })
  return {
    operations: [...Object.values(quickstart), refund, ship, watchStock],
    auth: { tokens: [token('operator', ALL), token('support', []), token('nobody', [])] },
    policy: {
      isolation: { high: 'optional' },
      default: 'allow',
      rules: [
        {
          id: 'large-refunds',
          effect: 'approve',
          what: { operation: 'v1:orders.refund' },
          when: { path: 'amount', gt: 100 },
          reason: 'Refunds above 100 need a second person.',
          approval: { ttlSeconds: 3_600 },
        },
      ],
    },
  }
}

export interface Envelope {
  stream?: { location: string; auth?: { credential: string } }
  requestId: string
  state: string
  result?: unknown
  error?: { code: string }
}

/** Calls an operation as one of the callers. */
export async function callAs(
  url: string,
  who: keyof typeof TOKENS,
  op: string,
  args: object,
  wait = 0,
): Promise<Envelope> {
  const requestId = crypto.randomUUID()
  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKENS[who]}`,
      'content-type': 'application/json',
      ...(wait > 0 && { prefer: `wait=${wait}` }),
    },
    body: JSON.stringify({ op, args, ctx: { requestId, idempotencyKey: requestId } }),
    redirect: 'manual',
  })
  const envelope = (await response.json()) as Envelope
  return { ...envelope, requestId }
}

/** Subscribes as one of the callers, and reads until the server ends it. Returns the id of the stream. */
export async function subscribeAs(url: string, who: keyof typeof TOKENS, op: string, args: object): Promise<string> {
  const { stream } = await callAs(url, who, op, args)
  const id = /\/streams\/([^/?]+)/.exec(stream?.location ?? '')?.[1]
  if (!id) throw new Error(`${op} is no stream.`)
  const reading = await fetch(`${url}/streams/${id}`, {
    headers: { accept: 'text/event-stream', authorization: `OTK ${stream?.auth?.credential}` },
  })
  // The server ends while it is read: that is the end of the test.
  void reading.body?.pipeTo(new WritableStream()).catch(() => undefined)
  return id
}

interface Pending {
  approvals: { id: string; operation: string; args: { orderId?: string } }[]
}

/** The id of the approval that waits for the refund of an order. */
export async function waitingApproval(url: string, orderId: string): Promise<string> {
  const { result } = await callAs(url, 'operator', 'v1:callplane.approvals.list', {})
  const found = (result as Pending).approvals.find(({ args }) => args.orderId === orderId)
  if (!found) throw new Error(`No approval waits for ${orderId}.`)
  return found.id
}

export async function approve(url: string, orderId: string): Promise<void> {
  const id = await waitingApproval(url, orderId)
  await callAs(url, 'operator', 'v1:callplane.approvals.decide', { id, verdict: 'approve' })
}

/** Everyday work: finished, failed, retried, running and held calls. */
export async function doSomeWork(url: string): Promise<void> {
  await callAs(url, 'support', 'v1:orders.refund', { orderId: 'A-1001', amount: 180, note: 'Broken on arrival.' })
  await approve(url, 'A-1001')
  for (let order = 1; order <= 12; order++)
    await callAs(
      url,
      'support',
      'v1:orders.ship',
      { orderId: `A-${1000 + order}`, fails: order % 4 === 0 ? 3 : order % 3 === 0 ? 1 : 0 },
      5,
    )
  for (let order = 1; order <= 5; order++)
    await callAs(url, 'support', 'v1:orders.ship', { orderId: `B-${2000 + order}`, breaks: true }, 5)
  await callAs(url, 'support', 'v1:Notes.Add', { text: 'Called the customer back.' })
  await callAs(url, 'support', 'v1:stock.reconcile', { warehouse: 'north' })
  await callAs(url, 'support', 'v1:orders.refund', { orderId: 'A-1002', amount: 45 })
  await callAs(url, 'support', 'v1:orders.refund', {
    orderId: 'A-1003',
    amount: 950,
    note: 'Two lamps were broken when the parcel arrived.\u200b Customer sent pictures.',
  })
  await callAs(url, 'support', 'v1:orders.refund', {
    orderId: 'A-1004',
    amount: 120,
    note: `The customer wrote: ${'I waited for three weeks and nobody told me anything. '.repeat(5)}`,
  })
}

interface Listed {
  calls: { id: string; attempts: number }[]
}

/** The ids of two shipments: one that failed in all its attempts, and another one. */
export async function someRuns(url: string): Promise<[string, string]> {
  const list = async (filter: object) => {
    const { result } = await callAs(url, 'operator', 'v1:callplane.calls.list', {
      operation: 'v1:orders.ship',
      ...filter,
    })
    return (result as Listed).calls
  }
  const [failed] = await list({ code: 'CARRIER_AWAY' })
  const [other] = await list({ state: ['complete'] })
  if (!failed || !other) throw new Error('The shipments are not listed.')
  return [failed.id, other.id]
}
