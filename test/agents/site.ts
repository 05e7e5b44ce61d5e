/** A server with a few operations and a token, used both in this process and over HTTP. */
import { createToken, operation, type ServerOptions } from 'callplane'
import type { ToolSource } from 'callplane/agents'
import { z } from 'zod'
import { type Site, startSite } from '../scenarios/server.ts'

export const getOrder = operation('v1:orders.get', {
  description: 'One order.',
  args: z.object({ id: z.string() }),
  result: z.object({ id: z.string(), paid: z.boolean() }),
  scopes: ['orders:read'],
  run: ({ id }) => ({ id, paid: true }),
})

export const refundOrder = operation('v1:orders.refund', {
  description: 'Pays an order back.',
  args: z.object({ id: z.string() }),
  sideEffecting: true,
  run: (_args, ctx) =>
    ctx.fail('ALREADY_REFUNDED', 'The order was paid back before.', {
      promptContent: 'Tell the customer when.',
      developerMessage: 'row 17 of refunds',
    }),
})

export interface Served {
  site: Site
  token: string
  /** The same server, in process and over HTTP. */
  sources: Record<'process' | 'url', ToolSource>
}

export async function serve(
  operations: ServerOptions['operations'],
  options: Omit<ServerOptions, 'operations'> = {},
): Promise<Served> {
  const { token, hash } = createToken()
  const scopes = ['orders:read']
  const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ann', scopes }] }
  const site = await startSite({ operations, auth, ...options })
  return { site, token, sources: { process: { server: site.server, token }, url: { url: site.url, token } } }
}

export const WAYS = ['process', 'url'] as const
