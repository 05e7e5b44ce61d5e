/** The cluster as its callers see it: any node for any request, and requests that may get no response. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { type ChaosCall, type History, nowMs, type Seen, type Via } from '../history.ts'
import { type Subject, tokenOf } from './callers.ts'

export interface Heard<T = ResponseEnvelope> {
  status: number
  body: T
  node: number
  sentMs: number
  heardMs: number
}

export interface SiteParts {
  urls: readonly string[]
  history: History
  random: (below: number) => number
}

/** Longer than a node may be paused, and than a caller may wait at `Prefer: wait`. */
const PATIENCE_MS = 20_000

export class Site {
  readonly urls: readonly string[]
  readonly history: History
  readonly random: (below: number) => number
  /** True when the time to end calls is over. Then clients stop following them. */
  isOver = false
  #labels = 0

  constructor({ urls, history, random }: SiteParts) {
    this.urls = urls
    this.history = history
    this.random = random
  }

  newLabel(kind: string): string {
    return `${kind}-${++this.#labels}`
  }

  anyNode(): number {
    return this.random(this.urls.length)
  }

  urlOf(node: number): string {
    return this.urls[node] as string
  }

  rest(belowMs: number): Promise<void> {
    return pause(10 + this.random(belowMs))
  }

  /** `undefined` if the connection broke or the node was silent: what became of the request is unknown. */
  async ask<T = ResponseEnvelope>(
    caller: Subject,
    path: string,
    { node = this.anyNode(), ...init }: RequestInit & { node?: number } = {},
  ): Promise<Heard<T> | undefined> {
    const sentMs = nowMs()
    const headers = { Authorization: `Bearer ${tokenOf(caller)}`, ...(init.headers as Record<string, string>) }
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      const response = await fetch(this.urlOf(node) + path, { ...init, headers, signal })
      const body = (await response.json()) as T
      return { status: response.status, body, node, sentMs, heardMs: nowMs() }
    } catch {
      return undefined
    }
  }

  post<T = ResponseEnvelope>(
    caller: Subject,
    path: string,
    body: object,
    node?: number,
  ): Promise<Heard<T> | undefined> {
    const headers = { 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return this.ask<T>(caller, path, { ...init, ...(node !== undefined && { node }) })
  }

  /** Notes the state in a response. */
  saw(call: ChaosCall, { status, body, node, sentMs, heardMs }: Heard, via: Via): Seen {
    const seen: Seen = {
      ...(status === 404 ? { state: 'missing' as const } : stateIn(body)),
      via,
      node,
      sentMs,
      heardMs,
    }
    if (body.expiresAt !== undefined) Object.assign(seen, { expiresAt: body.expiresAt, heardAt: Date.now() })
    this.history.saw(call, seen)
    return seen
  }
}

/** The state of an envelope, and its outcome: the result as JSON, or the code of the error. */
export function stateIn({ state, result, error, location }: ResponseEnvelope): Pick<Seen, 'state' | 'outcome'> {
  const seen = state === 'streaming' ? 'pending' : state
  if (seen === 'error') return { state: seen, outcome: error?.code ?? 'none' }
  if (seen === 'complete') return { state: seen, outcome: JSON.stringify(result ?? location?.value ?? 'none') }
  return { state: seen }
}

/**
 * A refusal that says nothing about the call: the storage or the node is busy or away. A node that was paused for long
 * refuses requests that it had not read, with 408.
 */
export function isPassing({ status }: Heard<unknown>): boolean {
  return status === 503 || status === 429 || status === 502 || status === 408
}
