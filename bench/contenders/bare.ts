/** What a hand-written server answers by: one path, one kind of envelope. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Reply {
  status: number
  body: string
}

export interface Bare {
  path: string
  /** Of every answer; node:http adds Date, Connection and Keep-Alive. */
  headers: Readonly<Record<string, string>>
  answer(text: string, headers: IncomingHttpHeaders): Reply
}

export const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' } as const

/** Nothing for a text that is no JSON object. */
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
