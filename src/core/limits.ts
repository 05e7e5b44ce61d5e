/** Who may do how much: rates, open calls and running work, counted in memory with bounded maps. */
import { type BucketRules, Buckets } from './buckets.ts'
import { Fault } from './fault.ts'
import type { Operation } from './operation.ts'
import type { Clock, OpenCounts, SharedLimits } from './ports.ts'
import { SharedSlots } from './shared-slots.ts'

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
  readonly #calls: (key: string) => number | Promise<number>
  readonly #polls: (key: string) => number | Promise<number>
  readonly #shared: SharedLimits | undefined
  readonly #sharedSlots: SharedSlots | undefined
  readonly #open = new Map<string, number>()
  readonly #runningOf = new Map<string, number>()
  #running = 0
  #queued = 0
  /** Called when a slot is given back where there was none: somebody may be waiting for it. */
  onFreed: (() => void) | undefined

  /** `shared` where other processes of the same server count with this one. */
  constructor(rules: LimitRules, clock: Clock, shared?: SharedLimits) {
    const { callsPerSecond, callBurst, pollBurst, pollIntervalMs } = rules
    const take = (bucket: BucketRules) => {
      if (shared) return (key: string) => shared.takeToken(bucket, key)
      const buckets = new Buckets(bucket, clock)
      return (key: string) => buckets.take(key)
    }
    this.rules = rules
    this.#calls = callsPerSecond > 0 ? take({ capacity: callBurst, msPerToken: 1000 / callsPerSecond }) : () => 0
    this.#polls = take({ capacity: pollBurst, msPerToken: pollIntervalMs })
    this.#shared = shared
    this.#sharedSlots = shared && new SharedSlots(shared)
    shared?.listen({
      counted: (open, queued) => this.#countedElsewhere(open, queued),
      kept: (operation) => {
        this.#sharedSlots?.keep(operation)
        this.onFreed?.()
      },
    })
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

  /** A promise only where processes count together. */
  countCall(owner: string): void | Promise<void> {
    return unlessTooSoon(this.#calls(owner), 'Too many calls in a short time')
  }

  countPoll(owner: string, requestId: string): void | Promise<void> {
    return unlessTooSoon(this.#polls(`${owner}|${requestId}`), 'This call is polled too often')
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
    this.#addOpen(owner, 1)
    this.#shared?.counted(owner, 1)
  }

  closed(owner: string): void {
    this.#addOpen(owner, -1)
    this.#shared?.counted(owner, -1)
  }

  enqueued(): void {
    this.#queued++
    this.#shared?.counted(undefined, 1)
  }

  dequeued(): void {
    if (this.#queued > 0) this.#queued--
    this.#shared?.counted(undefined, -1)
  }

  #addOpen(owner: string, calls: number): void {
    const now = (this.#open.get(owner) ?? 0) + calls
    if (now > 0) this.#open.set(owner, now)
    else this.#open.delete(owner)
  }

  #countedElsewhere(open: Iterable<readonly [owner: string, calls: number]>, queued: number): void {
    for (const [owner, calls] of open) this.#addOpen(owner, calls)
    this.#queued = Math.max(0, this.#queued + queued)
    // Whoever queued it may have no slot for it.
    if (queued > 0 && this.#running < this.rules.runningCalls) this.onFreed?.()
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

  /** How many more of an operation are worth claiming now, for those that have a bound of their own. */
  slotsOf(bounded: readonly Operation[]): ReadonlyMap<string, number> {
    this.#sharedSlots?.offer()
    return new Map(
      bounded.map(({ key, concurrency = 0 }) => {
        const most = Math.max(0, concurrency - (this.#runningOf.get(key) ?? 0))
        return [key, this.#sharedSlots?.worthClaiming(key, most) ?? most]
      }),
    )
  }

  /** What was claimed has its slots. */
  claimed(): void {
    this.#sharedSlots?.giveBack()
  }

  /**
   * Takes a slot if there is one: a promise only where processes count together, and the operation has a bound of its
   * own. `waits`: if there is none, the next one wakes whoever looks for work here.
   */
  take(operation: Operation, waits = false): boolean | Promise<boolean> {
    if (!this.hasSlot(operation)) return false
    this.#begin(operation)
    if (!this.#sharedSlots || operation.concurrency === undefined) return true
    const taken = this.#sharedSlots.take(operation, waits)
    return taken === true || this.#unlessRefused(operation, taken)
  }

  async #unlessRefused(operation: Operation, taking: Promise<boolean>): Promise<boolean> {
    let taken = false
    try {
      taken = await taking
    } finally {
      if (!taken) this.#end(operation)
    }
    return taken
  }

  /** Whether or not there was a slot. */
  started(operation: Operation): void {
    this.#begin(operation)
    if (operation.concurrency !== undefined) this.#shared?.entered(operation.key)
  }

  ended(operation: Operation): void {
    if (operation.concurrency !== undefined) this.#shared?.leave(operation.key)
    this.#end(operation)
  }

  #begin({ key, concurrency }: Operation): void {
    this.#running++
    if (concurrency !== undefined) this.#runningOf.set(key, (this.#runningOf.get(key) ?? 0) + 1)
  }

  #end(operation: Operation): void {
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

function unlessTooSoon(waiting: number | Promise<number>, what: string): void | Promise<void> {
  if (typeof waiting !== 'number') return waiting.then((waitMs) => unlessTooSoon(waitMs, what))
  if (waiting > 0) throw slowDown(what, waiting)
}

function slowDown(what: string, waitMs: number): Fault {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs))
  return new Fault('rate-limited', `${what}. Wait ${retryAfterMs} ms before the next one.`, { retryAfterMs })
}

function full(message: string, code: string): Fault {
  return new Fault('overloaded', message, { code, retryAfterMs: 1_000 })
}
