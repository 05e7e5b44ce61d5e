/** tRPC's client with one request for each call. Its link for batches would measure something else. */
import { createTRPCClient, httpLink } from '@trpc/client'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'
import type { AddRouter } from './trpc.ts'

export const start: Contender = async (options) => {
  const client = createTRPCClient<AddRouter>({ links: [httpLink({ url: addressOf(options) })] })
  return clientOf((a, b) => client.add.mutate({ a, b }))
}
