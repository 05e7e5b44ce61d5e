/** The same addition as a tRPC mutation over WebSocket, with tRPC's own adapter for `ws`. */
import { createServer } from 'node:http'
import { initTRPC } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { createChecks, type Pair, parserOf } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const checks = await createChecks(validator)
  const t = initTRPC.create()
  const router = t.router({
    add: t.procedure
      .input(parserOf<Pair>(checks.args))
      .output(parserOf<number>(checks.result))
      .mutation(({ input: { a, b } }) => a + b),
  })
  const server = createServer()
  applyWSSHandler({ wss: new WebSocketServer({ server, perMessageDeflate: false }), router })
  return serve(server)
}
