/** The text of a filter as the filter of the server's `calls.*` operations. What it does not understand, it says. */
import type { CallFilter, CallState } from '../api/types.ts'
import { durationMs, termsOf, timeAt } from './terms.ts'

export interface ReadFilter {
  readonly filter: CallFilter
  /** Terms that mean nothing: they are not sent, and the person is told. */
  readonly unknown: readonly string[]
}

const STATES: Readonly<Record<string, CallState>> = {
  accepted: 'accepted',
  queued: 'accepted',
  pending: 'pending',
  running: 'pending',
  streaming: 'streaming',
  complete: 'complete',
  error: 'error',
  failed: 'error',
}

const TEXT_KEYS = {
  op: 'operation',
  owner: 'owner',
  code: 'code',
  session: 'sessionId',
  parent: 'parent',
  key: 'key',
} as const satisfies Record<string, keyof CallFilter>

type Reading = (value: string, now: number) => CallFilter | undefined

const READINGS: Readonly<Record<string, Reading>> = {
  state(value) {
    const found = value.split(',').map((name) => (Object.hasOwn(STATES, name) ? STATES[name] : undefined))
    return found.includes(undefined) ? undefined : { state: found as CallState[] }
  },
  is: (value) => (value === 'held' ? { held: true } : undefined),
  attempts: (value) => (/^[1-9]\d{0,5}$/.test(value) ? { minAttempts: Number(value) } : undefined),
  slow(value) {
    const minMs = durationMs(value)
    return minMs === undefined ? undefined : { minMs: Math.round(minMs) }
  },
  since(value, now) {
    const since = timeAt(value, now)
    return since === undefined ? undefined : { since }
  },
  until(value, now) {
    const until = timeAt(value, now)
    return until === undefined ? undefined : { until }
  },
}

export function readCallFilter(text: string, now: number): ReadFilter {
  const unknown: string[] = []
  const words: string[] = []
  let filter: CallFilter = {}
  for (const { key, value, from, to } of termsOf(text)) {
    const named = Object.hasOwn(TEXT_KEYS, key) ? TEXT_KEYS[key as keyof typeof TEXT_KEYS] : undefined
    const reading = Object.hasOwn(READINGS, key) ? READINGS[key] : undefined
    const read = named ? { [named]: value } : reading?.(value, now)
    if (key === '') words.push(value)
    else if (read && value !== '') filter = { ...filter, ...read }
    else unknown.push(text.slice(from, to))
  }
  return { filter: { ...filter, ...(words.length > 0 && { text: words.join(' ') }) }, unknown }
}

/**
 * A call that cannot match is not announced as new. Other parts of a filter are the server's to judge. A change names
 * the exact version of its operation, and a name without a version stands for all of them.
 */
export function mayMatch({ operation: wanted }: CallFilter, operation: string): boolean {
  if (wanted === undefined) return true
  if (wanted.endsWith('*')) return operation.startsWith(wanted.slice(0, -1))
  return operation === wanted || operation.startsWith(`${wanted}@`)
}
