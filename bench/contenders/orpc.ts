/** The same addition as an oRPC procedure, on oRPC's own node:http adapter and wire format. */
import { createServer } from 'node:http'
import { os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/node'
import { type Checks, createChecks, type Pair, standardOf } from './add-checks.ts'
import type { Contender } from './contender.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

export type AddRouter = ReturnType<typeof createRouter>

function createRouter(checks: Checks) {
  const add = os
    .input(standardOf<Pair>(checks.args))
    .output(standardOf<number>(checks.result))
    .handler(({ input: { a, b } }) => a + b)
  return { add }
}

export const start: Contender = async ({ validator }) => {
  const handler = new RPCHandler(createRouter(await createChecks(validator)))
  const server = createServer((request, response) => {
    readText(request, async (text) => {
      const parsed = Object.assign(request, { body: JSON.parse(text) as unknown })
      const { matched } = await handler.handle(parsed, response, { context: {} })
      if (!matched) response.writeHead(404, { 'Content-Length': 0 }).end()
    })
  })
  return serve(server)
}
