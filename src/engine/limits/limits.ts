/** Who may do how much: rates, open calls and running work, counted in memory with bounded maps. */
import { type BucketRules, Buckets } from '../../core/fairness/buckets.ts'
import type { Weights } from '../../core/fairness/fair-turns.ts'
import { type SharesSnapshot, type SlotOwner, SlotShares } from '../../core/fairness/slot-shares.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { OpenCounts } from '../../core/ports/store.ts'
import { SharedSlots } from './shared-slots.ts'
import { SlotQueue } from './slot-queue.ts'

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
  /** Slots that a caller who runs much leaves to others; an eighth of `runningCalls` by default. */
  reservedCalls?: number
  /** Sync calls that wait for a slot, of all callers. */
  waitingCalls: number
  /** How long a sync call waits for a slot; 0 refuses it at once. */
  slotWaitMs: number
  /** Who gets more than one call in a turn, when callers wait for slots. */
  weights?: Weights
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
  waitingCalls: 256,
  // As long as a refusal tells its caller to stay away.
  slotWaitMs: 1_000,
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
  readonly #shares: SlotShares
  readonly #waiting: SlotQueue
  #queued = 0
  /** Slots that come free are for those who wait and for the queue by turns. */
  #queueIsNext = false
  /** One that is kept for the queue until it has been looked at. */
  #kept = 0
  /** Called when a slot is given back that queued calls may need. */
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
    this.#shares = new SlotShares(rules.runningCalls, rules.reservedCalls)
    this.#waiting = new SlotQueue(clock, rules.waitingCalls, rules.weights)
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
    return this.#shares.running
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

  enqueued(who: SlotOwner): void {
    this.#queued++
    this.#shares.queued(who, 1)
    this.#shared?.counted(undefined, 1)
  }

  dequeued(who: SlotOwner): void {
    if (this.#queued > 0) this.#queued--
    this.#shares.queued(who, -1)
    this.#shared?.counted(undefined, -1)
  }

  /** Whether a call of it that has a slot need not wait behind those in the queue. */
  mayStart(who: SlotOwner): boolean {
    return this.#queued === 0 || this.#shares.mayOvertake(who)
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
    if (queued > 0 && this.#shares.free > 0) this.onFreed?.()
  }

  /** The store knows better: other nodes accept and end calls, too. */
  adjust(counts: OpenCounts): void {
    this.#queued = counts.queued
    this.#shares.forgetQueued()
    this.#open.clear()
    for (const [owner, count] of counts.byOwner) this.#open.set(owner, count)
  }

  /** What administers has one in any case: when nothing moves any more, it is how somebody makes it move. */
  hasSlot(operation: Operation, who: SlotOwner): boolean {
    const administers = operation.internal === true && operation.model === 'sync'
    const admitted = this.#shares.free > this.#kept && this.#shares.admits(who)
    return (admitted || administers) && this.#hasOwnSlot(operation)
  }

  #hasOwnSlot({ key, concurrency }: Operation): boolean {
    return concurrency === undefined || (this.#runningOf.get(key) ?? 0) < concurrency
  }

  /** Of all slots, how many are free. */
  get free(): number {
    return this.#shares.free
  }

  /** Who holds the slots that are taken, for those who hand out calls. */
  get shares(): SharesSnapshot | undefined {
    return this.#shares.snapshot()
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

  /** The queue was looked at, with slots for what is in it or without: what is left of them is for those who wait. */
  claimed(withSlots: boolean): void {
    this.#sharedSlots?.giveBack()
    if (!withSlots) return
    this.#kept = 0
    this.#serveWaiting()
  }

  /**
   * Takes a slot if there is one: a promise only where processes count together, and the operation has a bound of its
   * own.
   */
  take(operation: Operation, who: SlotOwner): boolean | Promise<boolean> {
    return this.hasSlot(operation, who) && this.#take(operation, who, false)
  }

  /**
   * For a call that was claimed: its share was looked at then, so that any free slot will do. If there is none, the next
   * one wakes whoever looks for work here.
   */
  takeClaimed(operation: Operation, who: SlotOwner): boolean | Promise<boolean> {
    return this.#shares.free > 0 && this.#hasOwnSlot(operation) && this.#take(operation, who, true)
  }

  #take(operation: Operation, who: SlotOwner, waits: boolean): boolean | Promise<boolean> {
    this.#begin(operation, who)
    if (!this.#sharedSlots || operation.concurrency === undefined) return true
    const taken = this.#sharedSlots.take(operation, waits)
    return taken === true || this.#unlessRefused(operation, who, taken)
  }

  async #unlessRefused(operation: Operation, who: SlotOwner, taking: Promise<boolean>): Promise<boolean> {
    let taken = false
    try {
      taken = await taking
    } finally {
      if (!taken) this.#end(operation, who)
    }
    return taken
  }

  /** The same for a sync call that found none: it waits for one, but not for long. */
  waitForSlot(operation: Operation, who: SlotOwner, waitMs: number): Promise<boolean> {
    return this.#waiting.wait(operation, who, Math.min(waitMs, this.rules.slotWaitMs))
  }

  /** Whether or not there was a slot. */
  started(operation: Operation, who: SlotOwner): void {
    this.#begin(operation, who)
    if (operation.concurrency !== undefined) this.#shared?.entered(operation.key)
  }

  ended(operation: Operation, who: SlotOwner): void {
    if (operation.concurrency !== undefined) this.#shared?.leave(operation.key)
    this.#end(operation, who)
  }

  #begin({ key, concurrency }: Operation, who: SlotOwner): void {
    this.#shares.take(who)
    if (concurrency !== undefined) this.#runningOf.set(key, (this.#runningOf.get(key) ?? 0) + 1)
  }

  #end(operation: Operation, who: SlotOwner): void {
    const wasFull = !this.#hasOwnSlot(operation)
    const opens = this.#shares.give(who)
    if (operation.concurrency !== undefined) {
      const left = (this.#runningOf.get(operation.key) ?? 1) - 1
      if (left > 0) this.#runningOf.set(operation.key, left)
      else this.#runningOf.delete(operation.key)
    }
    if (opens || wasFull) this.#freed()
  }

  /** Where both wait, one slot goes to those who wait and the next to the queue: neither can starve the other. */
  #freed(): void {
    if (this.#waiting.size > 0) {
      if (this.#queueIsNext && this.#queued > 0) this.#kept = 1
      else this.#serveWaiting(this.#queued > 0 ? 1 : Number.POSITIVE_INFINITY)
      this.#queueIsNext = !this.#queueIsNext
    }
    this.onFreed?.()
  }

  #serveWaiting(most = Number.POSITIVE_INFINITY): void {
    if (this.#waiting.size > 0) this.#waiting.serve((operation, who) => this.take(operation, who), most)
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
