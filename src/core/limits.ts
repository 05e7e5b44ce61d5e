/** Who may do how much: rates, open calls and running work, counted in memory with bounded maps. */
import { Fault } from './fault.ts'
import type { Operation } from './operation.ts'
import type { Clock, OpenCounts } from './ports.ts'

export interface LimitRules {
  /** Calls a second of one caller, on average; 0 means no limit. */
  callsPerSecond: number
  /** How many calls may come at once before the rate applies. */
  callBurst: number
  /** Accepted and not ended, of one caller. */
  openCallsPerCaller: number
  /** Calls of one caller that wait for an approval, or are refused for want of one. */
  pendingApprovalsPerCaller: number
  /** Accepted and not started, of all callers. */
  queuedCalls: number
  /** Attempts running at a time on this node. */
  runningCalls: number
  /** Polls of one call: this many at once, then one each interval. */
  pollBurst: number
  pollIntervalMs: number
}

export const DEFAULT_LIMITS: LimitRules = {
  callsPerSecond: 0,
  callBurst: 100,
  openCallsPerCaller: 10_000,
  pendingApprovalsPerCaller: 100,
  queuedCalls: 100_000,
  runningCalls: 256,
  pollBurst: 10,
  // A caller that polls every 100 ms or slower is never told to slow down.
  pollIntervalMs: 100,
}

export class Limits {
  readonly rules: LimitRules
  readonly #calls: Buckets | undefined
  readonly #polls: Buckets
  readonly #open = new Map<string, number>()
  readonly #runningOf = new Map<string, number>()
  #running = 0
  #queued = 0
  /** Called when a slot is given back where there was none: somebody may be waiting for it. */
  onFreed: (() => void) | undefined

  constructor(rules: LimitRules, clock: Clock) {
    this.rules = rules
    this.#calls =
      rules.callsPerSecond > 0 ? new Buckets(rules.callBurst, 1000 / rules.callsPerSecond, clock) : undefined
    this.#polls = new Buckets(rules.pollBurst, rules.pollIntervalMs, clock)
  }

  get running(): number {
    return this.#running
  }

  get queued(): number {
    return this.#queued
  }

  get open(): number {
    let sum = 0
    for (const count of this.#open.values()) sum += count
    return sum
  }

  countCall(owner: string): void {
    const waitMs = this.#calls?.take(owner) ?? 0
    if (waitMs > 0) throw slowDown('Too many calls in a short time', waitMs)
  }

  countPoll(owner: string, requestId: string): void {
    const waitMs = this.#polls.take(`${owner}|${requestId}`)
    if (waitMs > 0) throw slowDown('This call is polled too often', waitMs)
  }

  /** Room for one more accepted call of this owner, in the queue if it has to wait, or a fault. The server itself has no owner. */
  requireRoom(owner: string | undefined, mustWait: boolean): void {
    const { openCallsPerCaller, queuedCalls } = this.rules
    if (owner !== undefined && (this.#open.get(owner) ?? 0) >= openCallsPerCaller) {
      throw full(`You have ${openCallsPerCaller} calls open. Wait until some of them end.`, 'TOO_MANY_OPEN_CALLS')
    }
    if (mustWait && this.#queued >= queuedCalls) throw full('The queue is full. Come back in a moment.', 'QUEUE_FULL')
  }

  opened(owner: string): void {
    this.#open.set(owner, (this.#open.get(owner) ?? 0) + 1)
  }

  closed(owner: string): void {
    const left = (this.#open.get(owner) ?? 1) - 1
    if (left > 0) this.#open.set(owner, left)
    else this.#open.delete(owner)
  }

  enqueued(): void {
    this.#queued++
  }

  dequeued(): void {
    if (this.#queued > 0) this.#queued--
  }

  /** The store knows better: other nodes accept and end calls, too. */
  adjust(counts: OpenCounts): void {
    this.#queued = counts.queued
    this.#open.clear()
    for (const [owner, count] of counts.byOwner) this.#open.set(owner, count)
  }

  /** What administers has one in any case: when nothing moves any more, it is how somebody makes it move. */
  hasSlot(operation: Operation): boolean {
    const administers = operation.internal === true && operation.model === 'sync'
    if (this.#running >= this.rules.runningCalls && !administers) return false
    return operation.concurrency === undefined || (this.#runningOf.get(operation.key) ?? 0) < operation.concurrency
  }

  /** How many more of an operation could start now, for those that have a bound of their own. */
  slotsOf(bounded: readonly Operation[]): ReadonlyMap<string, number> {
    return new Map(
      bounded.map(({ key, concurrency = 0 }) => [key, Math.max(0, concurrency - (this.#runningOf.get(key) ?? 0))]),
    )
  }

  started(operation: Operation): void {
    this.#running++
    if (operation.concurrency !== undefined)
      this.#runningOf.set(operation.key, (this.#runningOf.get(operation.key) ?? 0) + 1)
  }

  ended(operation: Operation): void {
    const full = !this.hasSlot(operation)
    this.#running--
    if (operation.concurrency !== undefined) {
      const left = (this.#runningOf.get(operation.key) ?? 1) - 1
      if (left > 0) this.#runningOf.set(operation.key, left)
      else this.#runningOf.delete(operation.key)
    }
    if (full) this.onFreed?.()
  }
}

function slowDown(what: string, waitMs: number): Fault {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs))
  return new Fault('rate-limited', `${what}. Wait ${retryAfterMs} ms before the next one.`, { retryAfterMs })
}

function full(message: string, code: string): Fault {
  return new Fault('overloaded', message, { code, retryAfterMs: 1_000 })
}

/** Token buckets by key. Full ones are forgotten first, so the map stays as small as the set of busy keys. */
class Buckets {
  readonly #capacity: number
  readonly #msPerToken: number
  readonly #clock: Clock
  /** When each bucket would be full again; one number says it all. */
  readonly #fullAt = new Map<string, number>()

  constructor(capacity: number, msPerToken: number, clock: Clock) {
    this.#capacity = capacity
    this.#msPerToken = msPerToken
    this.#clock = clock
  }

  /** Takes one token: 0, or how many milliseconds to wait for it. */
  take(key: string): number {
    const now = this.#clock.now()
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + this.#msPerToken
    const waitMs = fullAt - now - this.#capacity * this.#msPerToken
    if (waitMs > ROUNDING_MS) return waitMs
    this.#fullAt.delete(key)
    this.#fullAt.set(key, fullAt)
    if (this.#fullAt.size > MAX_KEYS) this.#forget(now)
    return 0
  }

  #forget(now: number): void {
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt <= now || this.#fullAt.size > MAX_KEYS) this.#fullAt.delete(key)
      else break
    }
  }
}

const MAX_KEYS = 100_000
/** Sums of times near 2 × 10¹² and fractions are inexact: without this, 625 calls a second refused the very first one. */
const ROUNDING_MS = 0.5
