/**
 * Slots of operations with a concurrency limit, shared by several processes. The limit applies to all processes
 * together. A process that claims a queued call and finds no slot waits for a reserved one, and claims no calls of that
 * operation until then.
 */
import type { Operation } from '../../core/operation/operation.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'

export class SharedSlots {
  readonly #shared: SharedLimits
  /** Operations for which this process waits for a slot. */
  readonly #waitedFor = new Set<string>()
  /** Slots that are reserved for this process and not used yet. */
  readonly #kept = new Map<string, number>()
  /** The reserved slots that the current claim can use. */
  #offered: readonly string[] = []

  constructor(shared: SharedLimits) {
    this.#shared = shared
  }

  /** `waits`: if no slot is free, the next one is reserved for this process. */
  take({ key, concurrency = 0 }: Operation, waits: boolean): true | Promise<boolean> {
    const kept = this.#kept.get(key) ?? 0
    if (kept > 0) {
      this.#setKept(key, kept - 1)
      return true
    }
    return this.#ask(key, concurrency, waits)
  }

  async #ask(key: string, most: number, waits: boolean): Promise<boolean> {
    if (waits) this.#waitedFor.add(key)
    const free = await this.#shared.enter(key, most, waits)
    if (waits && free) this.#waitedFor.delete(key)
    return free
  }

  keep(key: string): void {
    this.#waitedFor.delete(key)
    this.#setKept(key, (this.#kept.get(key) ?? 0) + 1)
  }

  /** How many calls of the operation to claim. `most` is the limit of this process alone. */
  worthClaiming(key: string, most: number): number {
    const kept = this.#kept.get(key) ?? 0
    return this.#waitedFor.has(key) || kept > 0 ? kept : most
  }

  /** A claim starts. */
  offer(): void {
    this.#offered = [...this.#kept].flatMap(([key, kept]) => Array<string>(kept).fill(key))
  }

  /** A claim has ended. Reserved slots without a call are released for other processes. */
  giveBack(): void {
    for (const key of this.#offered) {
      const kept = this.#kept.get(key) ?? 0
      if (kept === 0) continue
      this.#setKept(key, kept - 1)
      this.#shared.leave(key)
    }
    this.#offered = []
  }

  #setKept(key: string, count: number): void {
    if (count > 0) this.#kept.set(key, count)
    else this.#kept.delete(key)
  }
}
