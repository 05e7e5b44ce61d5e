/**
 * Slots of operations with a concurrency limit, shared by several processes. The limit applies to all processes
 * together. A process claims queued calls only for slots that it has. If a claim leaves due calls for lack of slots, the
 * process requests some, and the next claim uses them.
 */
import type { Operation } from '../../core/operation/operation.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'
import type { Claimed } from '../../core/ports/store.ts'

export class SharedSlots {
  readonly #shared: SharedLimits
  /** Called when a slot can be used for a queued call. */
  readonly #kept: () => void
  /** Operations for which this process has requested slots. */
  readonly #requested = new Set<string>()
  /** Operations with due calls that the last claim left. */
  #lacking = new Set<string>()
  /** Slots that this process has for queued calls and does not use yet. */
  readonly #slots = new Map<string, number>()
  /** The slots that the current claim can use. */
  #offered: readonly string[] = []

  constructor(shared: SharedLimits, kept: () => void) {
    this.#shared = shared
    this.#kept = kept
  }

  /** Takes a slot for a call that does not come from the queue. */
  take({ key, concurrency = 0 }: Operation): boolean | Promise<boolean> {
    return this.#shared.enter(key, concurrency, false)
  }

  /** Takes a slot for a claimed call. False if none was kept for it. */
  takeKept(key: string): boolean {
    const kept = this.keptOf(key)
    if (kept > 0) this.#setKept(key, kept - 1)
    return kept > 0
  }

  /** How many calls of the operation can be claimed. */
  keptOf(key: string): number {
    return this.#slots.get(key) ?? 0
  }

  /** A slot that was reserved for this process is free. */
  keep(key: string): void {
    this.#requested.delete(key)
    this.#keep(key)
    this.#kept()
  }

  /** A call has ended. `goesOn`: if others of its operation are due, the next one may have the slot. */
  leave({ key, concurrency = 0 }: Operation, goesOn: boolean): void {
    this.#shared.leave(key)
    if (goesOn && this.#lacking.has(key)) this.#request(key, concurrency, 1)
  }

  /** A claim starts. */
  offer(): void {
    this.#offered = [...this.#slots].flatMap(([key, kept]) => Array<string>(kept).fill(key))
  }

  /** A claim has ended. Slots without a call are released for other processes. */
  giveBack(): void {
    for (const key of this.#offered) if (this.takeKept(key)) this.#shared.leave(key)
    this.#offered = []
  }

  /** Requests slots for due calls that a claim left. `roomOf` says how many of them this process could start. */
  request(
    lacking: NonNullable<Claimed['lacking']>,
    roomOf: (key: string) => { most: number; room: number } | undefined,
  ): void {
    this.#lacking = new Set(lacking.map(([key]) => key))
    for (const [key, calls] of lacking) {
      const { most = 0, room = 0 } = roomOf(key) ?? {}
      if (this.#request(key, most, Math.min(calls, room))) this.#kept()
    }
  }

  /** True if it got some at once. */
  #request(key: string, most: number, slots: number): boolean {
    if (this.#requested.has(key)) return false
    const asked: Promise<boolean>[] = []
    for (let n = 0; n < slots; n++) {
      const taken = this.#shared.enter(key, most, true)
      if (taken === true) this.#keep(key)
      else asked.push(this.#keepIfTaken(key, taken))
    }
    if (asked.length > 0) void this.#requestedUntil(key, asked)
    return asked.length < slots
  }

  async #keepIfTaken(key: string, taking: false | Promise<boolean>): Promise<boolean> {
    const taken = await taking
    if (!taken) return false
    this.#keep(key)
    this.#kept()
    return true
  }

  /** If one was refused, the next free slot is reserved for this process. */
  async #requestedUntil(key: string, asked: readonly Promise<boolean>[]): Promise<void> {
    this.#requested.add(key)
    const answers = await Promise.allSettled(asked)
    if (!answers.some(isRefusal)) this.#requested.delete(key)
  }

  #keep(key: string): void {
    this.#setKept(key, this.keptOf(key) + 1)
  }

  #setKept(key: string, count: number): void {
    if (count > 0) this.#slots.set(key, count)
    else this.#slots.delete(key)
  }
}

/** A request that failed is repeated after the next claim. */
function isRefusal(answer: PromiseSettledResult<boolean>): boolean {
  return answer.status === 'fulfilled' && !answer.value
}
