/** The envelope work of a durable call that the client waits for. It is the same for every job system. */
import { randomUUID } from 'node:crypto'
import { createChecks, type Pair } from './add-checks.ts'
import { isObject, parseObject, type Reply } from './bare.ts'

export const ADD_LATER = 'v1:Calculator.AddLater'

export async function createAddLater(
  run: (id: string, args: Pair) => Promise<number>,
): Promise<(text: string) => Promise<Reply>> {
  const checks = await createChecks()
  return async (text) => {
    const envelope = parseObject(text)
    if (!envelope) return refuse(randomUUID(), 'INVALID_ENVELOPE', 'The body is not an object in JSON.')
    const { op, args, ctx } = envelope
    const requestId = isObject(ctx) && typeof ctx.requestId === 'string' ? ctx.requestId : randomUUID()
    if (op !== ADD_LATER) return refuse(requestId, 'UNKNOWN_OPERATION', 'There is no such operation.')
    if (!checks.args(args)) return refuse(requestId, 'INVALID_ARGS', 'The arguments are wrong.')
    const result = await run(requestId, args as Pair)
    return { status: 200, body: JSON.stringify({ requestId, state: 'complete', result }) }
  }
}

function refuse(requestId: string, code: string, message: string): Reply {
  return { status: 400, body: JSON.stringify({ requestId, state: 'error', error: { code, message } }) }
}
