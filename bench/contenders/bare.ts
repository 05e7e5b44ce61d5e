/** The shape of a hand-written server: one path and one kind of envelope. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Reply {
  status: number
  body: string
}

export interface Bare {
  path: string
  /** Headers of every response; node:http adds Date, Connection and Keep-Alive. */
  headers: Readonly<Record<string, string>>
  answer(text: string, headers: IncomingHttpHeaders): Reply
}

export const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' } as const

/** Returns `undefined` if the text is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return isObject(value) ? value : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
