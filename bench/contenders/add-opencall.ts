/** The envelope work of OpenCALL's `v1:Calculator.Add`, as a hand-written server does it. */
import { randomUUID } from 'node:crypto'
import { createChecks, type Pair } from './add-checks.ts'
import { ADD } from './add-schemas.ts'
import { type Bare, HEADERS, isObject, parseObject, type Reply } from './bare.ts'

/** Turns request text into response text: parse, check the envelope, validate, compute, validate, encode. */
export async function createAdd(validator?: 'ajv' | 'zod'): Promise<(text: string) => Reply> {
  const checks = await createChecks(validator)
  return (text) => {
    const envelope = parseObject(text)
    if (!envelope) return refuse(400, randomUUID(), 'INVALID_ENVELOPE', 'The body is not an object in JSON.')
    const { op, args, ctx } = envelope
    const requestId = isObject(ctx) && typeof ctx.requestId === 'string' ? ctx.requestId : randomUUID()
    if (op !== ADD) return refuse(400, requestId, 'UNKNOWN_OPERATION', 'There is no such operation.')
    if (!checks.args(args)) return refuse(400, requestId, 'INVALID_ARGS', 'The arguments are wrong.')
    const { a, b } = args as Pair
    const result = a + b
    if (!checks.result(result)) return refuse(500, requestId, 'INVALID_RESULT', 'The result is wrong.')
    return { status: 200, body: JSON.stringify({ requestId, state: 'complete', result }) }
  }
}

export async function createOpenCall(validator?: 'ajv' | 'zod'): Promise<Bare> {
  return { path: '/call', headers: HEADERS, answer: await createAdd(validator) }
}

function refuse(status: number, requestId: string, code: string, message: string): Reply {
  return { status, body: JSON.stringify({ requestId, state: 'error', error: { code, message } }) }
}
