/**
 * Slots of operations with a bound of their own, where several processes run them: the bound is of all of them together.
 * A process that claims queued work and finds no slot waits for one to be kept for it, and claims nothing of that
 * operation until then.
 */
import type { Operation } from '../../core/operation.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'

export class SharedSlots {
  readonly #shared: SharedLimits
  /** Operations for which a slot is waited for. */
  readonly #waitedFor = new Set<string>()
  /** Slots that were kept for this process and are not used yet. */
  readonly #kept = new Map<string, number>()
  /** Those of them that the claim under way is for. */
  #offered: readonly string[] = []

  constructor(shared: SharedLimits) {
    this.#shared = shared
  }

  /** `waits`: if there is none, the next one is for this process. */
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

  /** How many calls of it are worth claiming, of those that this process could run by itself. */
  worthClaiming(key: string, most: number): number {
    const kept = this.#kept.get(key) ?? 0
    return this.#waitedFor.has(key) || kept > 0 ? kept : most
  }

  /** A claim begins. */
  offer(): void {
    this.#offered = [...this.#kept].flatMap(([key, kept]) => Array<string>(kept).fill(key))
  }

  /** A claim has ended: what was kept for it and found no call is for others. */
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
