/**
 * The same addition in the Tool Execution API, written by hand: the path names the tool and the body has its arguments.
 */
import { randomUUID } from 'node:crypto'
import { createChecks, type Pair } from './add-checks.ts'
import { type Bare, HEADERS, parseObject, type Reply } from './bare.ts'

export async function createRest(validator?: 'ajv' | 'zod'): Promise<Bare> {
  const checks = await createChecks(validator)
  return {
    path: '/tools/Calculator_Add/call',
    headers: HEADERS,
    answer(text) {
      const args = parseObject(text)
      if (!args || !checks.args(args)) return refuse('The arguments are wrong.')
      const { a, b } = args as unknown as Pair
      const result = a + b
      if (!checks.result(result)) return refuse('The result is wrong.')
      const content = [{ type: 'text', text: JSON.stringify(result) }]
      const _meta = { _trace_id: randomUUID() }
      return { status: 200, body: JSON.stringify({ content, structuredContent: { result }, isError: false, _meta }) }
    },
  }
}

function refuse(text: string): Reply {
  return { status: 500, body: JSON.stringify({ content: [{ type: 'text', text }], isError: true }) }
}
