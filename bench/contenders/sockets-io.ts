/** The same addition as an event of Socket.IO with an acknowledgement, over WebSocket only. */
import { createServer } from 'node:http'
import { Server } from 'socket.io'
import { createChecks, type Pair, parserOf } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const checks = await createChecks(validator)
  const args = parserOf<Pair>(checks.args)
  const result = parserOf<number>(checks.result)
  const server = createServer()
  const io = new Server(server, { transports: ['websocket'], serveClient: false })
  io.on('connection', (socket) => {
    socket.on('add', (given: unknown, reply: (sum: number) => void) => {
      const { a, b } = args(given)
      reply(result(a + b))
    })
  })
  return serve(server)
}
