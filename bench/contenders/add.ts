/** `v1:Calculator.Add` once, for all contenders: the schemas, and the envelope work that a hand-written server does. */
import { randomUUID } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'

export const ADD = 'v1:Calculator.Add'

export const ADD_ARGS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const

export const ADD_RESULT = { type: 'number' } as const

export const ZOD_ARGS = z.object({ a: z.number(), b: z.number() })
export const ZOD_RESULT = z.number()

/** The headers every contender sends; node:http adds Date, Connection and Keep-Alive. */
export const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' } as const

export interface Reply {
  status: number
  body: string
}

type Check = (value: unknown) => boolean

function createChecks(validator: 'ajv' | 'zod'): { args: Check; result: Check } {
  if (validator === 'zod') {
    return {
      args: (value) => ZOD_ARGS.safeParse(value).success,
      result: (value) => ZOD_RESULT.safeParse(value).success,
    }
  }
  const ajv = new Ajv2020()
  return { args: ajv.compile(ADD_ARGS), result: ajv.compile(ADD_RESULT) }
}

/** From the request's text to the reply's: parse, check the envelope, validate, compute, validate, word the reply. */
export function createAdd(validator: 'ajv' | 'zod' = 'ajv'): (text: string) => Reply {
  const checks = createChecks(validator)
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
