/** The envelope work of `v1:Calculator.Add` as a hand-written server does it. */
import { randomUUID } from 'node:crypto'
import { ADD, ADD_ARGS, ADD_RESULT } from './add-schemas.ts'

/** The headers every contender sends; node:http adds Date, Connection and Keep-Alive. */
export const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' } as const

export interface Reply {
  status: number
  body: string
}

type Check = (value: unknown) => boolean

async function createChecks(validator: 'ajv' | 'zod'): Promise<{ args: Check; result: Check }> {
  if (validator === 'zod') {
    const { args, result } = (await import('./add-zod.ts')).zodSchemas()
    return { args: (value) => args.safeParse(value).success, result: (value) => result.safeParse(value).success }
  }
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  const ajv = new Ajv2020()
  return { args: ajv.compile(ADD_ARGS), result: ajv.compile(ADD_RESULT) }
}

/** From the request's text to the reply's: parse, check the envelope, validate, compute, validate, word the reply. */
export async function createAdd(validator: 'ajv' | 'zod' = 'ajv'): Promise<(text: string) => Reply> {
  const checks = await createChecks(validator)
  return (text) => {
    let envelope: { op?: unknown; args?: unknown; ctx?: { requestId?: unknown } }
    try {
      envelope = JSON.parse(text)
    } catch {
      return refuse(400, randomUUID(), 'INVALID_JSON', 'The body is not JSON.')
    }
    if (typeof envelope !== 'object' || envelope === null) {
      return refuse(400, randomUUID(), 'INVALID_ENVELOPE', 'The body is not an object.')
    }
    const { op, args, ctx } = envelope
    const requestId = typeof ctx?.requestId === 'string' ? ctx.requestId : randomUUID()
    if (op !== ADD) return refuse(400, requestId, 'UNKNOWN_OPERATION', 'There is no such operation.')
    if (!checks.args(args)) return refuse(400, requestId, 'INVALID_ARGS', 'The arguments are wrong.')
    const { a, b } = args as { a: number; b: number }
    const result = a + b
    if (!checks.result(result)) return refuse(500, requestId, 'INVALID_RESULT', 'The result is wrong.')
    return { status: 200, body: JSON.stringify({ requestId, state: 'complete', result }) }
  }
}

function refuse(status: number, requestId: string, code: string, message: string): Reply {
  return { status, body: JSON.stringify({ requestId, state: 'error', error: { code, message } }) }
}
