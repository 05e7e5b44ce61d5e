/** The work of a tool written on the MCP SDK for each call: validate, compute, validate. */
import type { Checks, Pair } from './add-checks.ts'

export const ADD_TOOL = 'Calculator_Add'

export const SERVER_INFO = { name: 'bench', version: '1.0.0' }

/** `structured` encodes the structured value, which differs between the SDK generations. */
export function callTool<T extends object>(
  { args, result }: Checks,
  asked: { name: string; arguments?: Record<string, unknown> | undefined },
  structured: (value: number) => T,
) {
  if (asked.name !== ADD_TOOL) return refuse('There is no such tool.')
  if (!args(asked.arguments)) return refuse('The arguments are wrong.')
  const { a, b } = asked.arguments as unknown as Pair
  const value = a + b
  if (!result(value)) return refuse('The result is wrong.')
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }], ...structured(value) }
}

function refuse(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true }
}
