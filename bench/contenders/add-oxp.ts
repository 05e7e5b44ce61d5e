/** The same addition in OXP's envelope, written by hand. */
import { randomUUID } from 'node:crypto'
import { createChecks, type Pair } from './add-checks.ts'
import { type Bare, HEADERS, parseObject, type Reply } from './bare.ts'

export async function createOxp(validator?: 'ajv' | 'zod'): Promise<Bare> {
  const checks = await createChecks(validator)
  return {
    path: '/tools/call',
    headers: { ...HEADERS, 'OXP-Version': '1.0' },
    answer(text) {
      const startedAt = performance.now()
      const envelope = parseObject(text)
      if (!envelope) return refuse(400, 'The body is not an object in JSON.')
      const { tool_id, input, call_id = randomUUID() } = envelope
      if (tool_id !== 'Calculator.Add@1.0.0') return refuse(404, 'There is no such tool.')
      if (!checks.args(input)) return refuse(422, 'The input is wrong.')
      const { a, b } = input as Pair
      const value = a + b
      if (!checks.result(value)) return refuse(500, 'The value is wrong.')
      const duration = Math.round(performance.now() - startedAt)
      return { status: 200, body: JSON.stringify({ call_id, duration, success: true, value }) }
    },
  }
}

function refuse(status: number, message: string): Reply {
  return { status, body: JSON.stringify({ message }) }
}
