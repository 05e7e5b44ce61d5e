/** oRPC's client over `fetch`. */
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import type { RouterClient } from '@orpc/server'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'
import type { AddRouter } from './orpc.ts'

export const start: Contender = async (options) => {
  const client: RouterClient<AddRouter> = createORPCClient(new RPCLink({ url: addressOf(options) }))
  return clientOf((a, b) => client.add({ a, b }))
}
