/** The same addition as an oRPC procedure over WebSocket, with oRPC's own adapter for `ws`. */
import { createServer } from 'node:http'
import { os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/ws'
import { WebSocketServer } from 'ws'
import { createChecks, type Pair, standardOf } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const checks = await createChecks(validator)
  const add = os
    .input(standardOf<Pair>(checks.args))
    .output(standardOf<number>(checks.result))
    .handler(({ input: { a, b } }) => a + b)
  const handler = new RPCHandler({ add })
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket) => void handler.upgrade(socket, { context: {} }))
  return serve(server)
}
