/**
 * The text of a filter as the filter of the server's `calls.*` operations. The console and the command line read it with
 * this code, so that a person can copy it from one to the other. It reports terms that it does not understand.
 */
import type { State } from '../call/state.ts'
import { durationMs, termsOf, timeAt } from './terms.ts'

/** The filter that the operations take as arguments. Times are ISO 8601 text. */
export interface CallFilterArgs {
  state?: State[]
  /** Waits for an approval. */
  held?: boolean
  operation?: string
  owner?: string
  code?: string
  sessionId?: string
  parent?: string
  key?: string
  /** In the arguments or the outcome. It needs the scope `callplane:payloads`. */
  text?: string
  minAttempts?: number
  minMs?: number
  since?: string
  until?: string
}

export interface ReadFilter {
  readonly filter: CallFilterArgs
  /** Terms that mean nothing. They are not part of the filter. */
  readonly unknown: readonly string[]
}

const STATE_NAMES: ReadonlyMap<string, State> = new Map<string, State>([
  ['accepted', 'accepted'],
  ['queued', 'accepted'],
  ['pending', 'pending'],
  ['running', 'pending'],
  ['streaming', 'streaming'],
  ['complete', 'complete'],
  ['error', 'error'],
  ['failed', 'error'],
])

type Reading = (value: string, now: number) => CallFilterArgs | undefined

const READINGS: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ['state', readStates],
  ['is', (value) => (value === 'held' ? { held: true } : undefined)],
  ['op', (operation) => ({ operation })],
  ['owner', (owner) => ({ owner })],
  ['code', (code) => ({ code })],
  ['session', (sessionId) => ({ sessionId })],
  ['parent', (parent) => ({ parent })],
  ['key', (key) => ({ key })],
  ['attempts', (value) => (/^[1-9]\d{0,5}$/.test(value) ? { minAttempts: Number(value) } : undefined)],
  ['slow', readSlow],
  ['since', (value, now) => readTime(value, now, (since) => ({ since }))],
  ['until', (value, now) => readTime(value, now, (until) => ({ until }))],
])

export const CALL_FILTER_KEYS: readonly string[] = [...READINGS.keys()]

/** A later term replaces an earlier one with the same key. Plain words are one text. */
export function readCallFilter(text: string, now: number): ReadFilter {
  const unknown: string[] = []
  const words: string[] = []
  let filter: CallFilterArgs = {}
  for (const { key, value, from, to } of termsOf(text)) {
    const read = value === '' ? undefined : READINGS.get(key)?.(value, now)
    if (key === '') words.push(value)
    else if (read) filter = { ...filter, ...read }
    else unknown.push(text.slice(from, to))
  }
  return { filter: { ...filter, ...(words.length > 0 && { text: words.join(' ') }) }, unknown }
}

function readStates(value: string): CallFilterArgs | undefined {
  const found = value.split(',').map((name) => STATE_NAMES.get(name))
  const state = found.filter((one) => one !== undefined)
  return state.length < found.length ? undefined : { state }
}

function readSlow(value: string): CallFilterArgs | undefined {
  const minMs = Math.round(durationMs(value) ?? Number.NaN)
  return Number.isSafeInteger(minMs) ? { minMs } : undefined
}

function readTime(value: string, now: number, filterAt: (time: string) => CallFilterArgs): CallFilterArgs | undefined {
  const time = timeAt(value, now)
  return time === undefined ? undefined : filterAt(time)
}
