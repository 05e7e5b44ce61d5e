/** Limits on rates, open calls and running calls. Counts are in memory, in bounded maps. */
import { type OwnerCount, OwnerCounts } from '../../core/fairness/owner-counts.ts'
import { type SharesSnapshot, type SlotOwner, SlotShares } from '../../core/fairness/slot-shares.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Claimed, OpenCounts } from '../../core/ports/store.ts'
import type { LimitRules } from './limit-rules.ts'
import { Rates } from './rates.ts'
import { SharedSlots } from './shared-slots.ts'
import { SlotQueue } from './slot-queue.ts'
import { StreamLimits } from './stream-limits.ts'

export class Limits {
  readonly rules: LimitRules
  readonly rates: Rates
  readonly streams: StreamLimits
  readonly #shared: SharedLimits | undefined
  readonly #sharedSlots: SharedSlots | undefined
  readonly #open = new OwnerCounts()
  readonly #runningOf = new Map<string, number>()
  readonly #shares: SlotShares
  readonly #waiting: SlotQueue
  #queued = 0
  #ends = 0
  /** Freed slots alternate between waiting sync calls and the queue. */
  #queueIsNext = false
  /** The number of slots reserved for the queue until the next claim. */
  #kept = 0
  /** Called when a slot is freed that queued calls may need. */
  onFreed: (() => void) | undefined

  /** `shared` is set if other processes of the same server count together with this one. */
  constructor(rules: LimitRules, clock: Clock, shared?: SharedLimits) {
    this.rules = rules
    this.rates = new Rates(rules, clock, shared)
    this.streams = new StreamLimits(rules, clock)
    this.#shares = new SlotShares(rules.runningCalls, rules.reservedCalls)
    this.#waiting = new SlotQueue(clock, rules.waitingCalls, rules.weights)
    this.#shared = shared
    this.#sharedSlots = shared && new SharedSlots(shared, () => this.onFreed?.())
    shared?.listen({
      counted: (open, queued) => this.#countedElsewhere(open, queued),
      kept: (operation) => this.#sharedSlots?.keep(operation),
    })
  }

  get running(): number {
    return this.#shares.running
  }

  /** Calls that wait here for a slot. */
  get waiting(): number {
    return this.#waiting.size
  }

  get queued(): number {
    return this.#queued
  }

  /** Grows whenever a call ends that had a slot. */
  get ends(): number {
    return this.#ends
  }

  get open(): number {
    return this.#open.list().reduce((sum, [, , count]) => sum + count, 0)
  }

  /**
   * Throws a fault if there is no room for one more accepted call of this caller, or, with `mustWait`, in the queue. The
   * server itself is no caller.
   */
  requireRoom(who: SlotOwner | undefined, mustWait: boolean): void {
    const { openCallsPerCaller, queuedCalls } = this.rules
    if (who !== undefined && this.#open.of(who) >= openCallsPerCaller) {
      throw full(`You have ${openCallsPerCaller} open calls. Wait until some of them end.`, 'TOO_MANY_OPEN_CALLS')
    }
    if (mustWait && this.#queued >= queuedCalls) throw full('The queue is full. Try again in a moment.', 'QUEUE_FULL')
  }

  opened(who: SlotOwner): void {
    this.#open.add(who, 1)
    this.#shared?.counted(who, 1)
  }

  closed(who: SlotOwner): void {
    this.#addOpen(who, -1)
    this.#shared?.counted(who, -1)
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

  /** True if a call that has a slot may start before the queued calls. */
  mayStart(who: SlotOwner): boolean {
    return this.#queued === 0 || this.#shares.mayOvertake(who)
  }

  /** The store may have counted a change before it is reported here, so a count does not go below 0. */
  #addOpen(who: SlotOwner, calls: number): void {
    this.#open.add(who, Math.max(calls, -this.#open.of(who)))
  }

  #countedElsewhere(open: Iterable<OwnerCount>, queued: number): void {
    for (const [tenant, owner, calls] of open) this.#addOpen({ tenant, owner }, calls)
    this.#queued = Math.max(0, this.#queued + queued)
    // The process that queued the call may have no free slot for it.
    if (queued > 0 && this.#shares.free > 0) this.onFreed?.()
  }

  /** Replaces the counts with those of the store, because other nodes accept and end calls too. */
  adjust(counts: OpenCounts): void {
    this.#queued = counts.queued
    this.#shares.forgetQueued()
    this.#open.clear()
    for (const [tenant, owner, count] of counts.byOwner) this.#open.add({ tenant, owner }, count)
  }

  /** A sync administrative operation always gets a slot, so that an operator can act when all slots are taken. */
  hasSlot(operation: Operation, who: SlotOwner): boolean {
    const administers = operation.internal === true && operation.model === 'sync'
    const admitted = this.#shares.free > this.#kept && this.#shares.admits(who)
    return (admitted || administers) && this.#hasOwnSlot(operation)
  }

  #hasOwnSlot({ key, concurrency }: Operation): boolean {
    return concurrency === undefined || this.#runningAndKept(key) < concurrency
  }

  /** A slot that is kept for queued calls is no other call's. */
  #runningAndKept(key: string): number {
    return (this.#runningOf.get(key) ?? 0) + (this.#sharedSlots?.keptOf(key) ?? 0)
  }

  /** The number of free slots. */
  get free(): number {
    return this.#shares.free
  }

  /** The owners of the taken slots, for the store's claim. */
  get shares(): SharesSnapshot | undefined {
    return this.#shares.snapshot()
  }

  /** How many more calls of each operation with a concurrency limit this node should claim now. */
  slotsOf(bounded: readonly Operation[]): ReadonlyMap<string, number> {
    this.#sharedSlots?.offer()
    return new Map(
      bounded.map(({ key, concurrency = 0 }) => {
        const most = Math.max(0, concurrency - (this.#runningOf.get(key) ?? 0))
        return [key, this.#sharedSlots?.keptOf(key) ?? most]
      }),
    )
  }

  /**
   * A claim has ended. `withSlots` is true if there were free slots for it. The remaining slots go to waiting sync
   * calls. `lacking` has the operations of which due calls were left for lack of slots.
   */
  claimed(withSlots: boolean, bounded: readonly Operation[], lacking: Claimed['lacking'] = []): void {
    if (!withSlots) this.releaseKept()
    this.#sharedSlots?.giveBack()
    if (!withSlots) return
    this.#kept = 0
    this.#serveWaiting()
    this.#sharedSlots?.request(lacking, (operation) => this.#roomOf(bounded.find(({ key }) => key === operation)))
  }

  /** Other processes can use the slots that are kept here for queued calls. */
  releaseKept(): void {
    this.#sharedSlots?.offer()
    this.#sharedSlots?.giveBack()
  }

  #roomOf(operation: Operation | undefined): { most: number; room: number } | undefined {
    if (operation?.concurrency === undefined) return undefined
    const { key, concurrency: most } = operation
    return { most, room: Math.min(most - this.#runningAndKept(key), this.#shares.free) }
  }

  /**
   * Takes a slot if one is free. Returns a promise only if processes count together and the operation has its own
   * limit.
   */
  take(operation: Operation, who: SlotOwner): boolean | Promise<boolean> {
    if (operation.slotless) return true
    return this.hasSlot(operation, who) && this.#take(operation, who)
  }

  /**
   * Takes a slot for a claimed call. The claim has checked the caller's share, so any free slot will do. If none is
   * free, the next freed slot wakes the claim loop.
   */
  takeClaimed(operation: Operation, who: SlotOwner): boolean | Promise<boolean> {
    if (this.#shares.free <= 0) return false
    if (this.#sharedSlots?.takeKept(operation.key)) {
      this.#begin(operation, who)
      return true
    }
    return this.#hasOwnSlot(operation) && this.#take(operation, who)
  }

  #take(operation: Operation, who: SlotOwner): boolean | Promise<boolean> {
    this.#begin(operation, who)
    if (!this.#sharedSlots || operation.concurrency === undefined) return true
    const taken = this.#sharedSlots.take(operation)
    return taken === true || this.#unlessRefused(operation, who, taken)
  }

  async #unlessRefused(operation: Operation, who: SlotOwner, taking: false | Promise<boolean>): Promise<boolean> {
    let taken = false
    try {
      taken = await taking
    } finally {
      if (!taken) this.#end(operation, who)
    }
    return taken
  }

  /** Waits up to `slotWaitMs` for a slot, for a sync call that found none. */
  waitForSlot(operation: Operation, who: SlotOwner, waitMs: number): Promise<boolean> {
    return this.#waiting.wait(operation, who, Math.min(waitMs, this.rules.slotWaitMs))
  }

  /** Counts a running call, even if no slot was free. */
  started(operation: Operation, who: SlotOwner): void {
    if (operation.slotless) return
    this.#begin(operation, who)
    if (operation.concurrency !== undefined) this.#shared?.entered(operation.key)
  }

  /** Streams take no slots: most of them wait, and they have limits of their own. */
  ended(operation: Operation, who: SlotOwner): void {
    if (operation.stream || operation.slotless) return
    this.#ends++
    // Before a claim is woken, which can then use the slot.
    const goesOn = this.#waiting.size === 0 || this.#queueIsNext
    if (operation.concurrency !== undefined) this.#sharedSlots?.leave(operation, goesOn)
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

  /** If both wait, slots alternate between waiting sync calls and the queue, so that neither can starve the other. */
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

function full(message: string, code: string): Fault {
  return new Fault('overloaded', message, { code, retryAfterMs: 1_000 })
}
