/**
 * The calls that this node accepted or claimed, and that have no row in `due`: it runs them, or they wait for one of its
 * slots. Most calls end within seconds, so they never need one: accepting and ending such a call writes one row twice.
 * If this node dies, another one finds them by the node's number, among the ids from `low` on.
 */

import { idAt } from '../../../core/call/id-time.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'
import type { CountedRow } from '../upkeep.ts'

/** What must be known of such a call. */
export type FreshFields = Pick<Instance, 'id' | 'tenant' | 'owner' | 'operation' | 'dueAt' | 'expiresAt'>

interface FreshCall {
  instance: FreshFields
  sinceMs: number
  /** It waits for a slot of this node. */
  waits: boolean
  /**
   * `sending`: not known to be committed. `doubtful`: its answer was lost for good, so that it may turn up.
   * `registering`: its row in `due` is being written.
   */
  state: 'sending' | 'doubtful' | 'fresh' | 'registering'
}

/** A call that runs for longer than this gets its row in `due`. */
const OLD_MS = 10_000
/** A write without an answer is committed within this time, or never. */
const DOUBT_MS = 60_000

/** Calls that may wait here: what a claim looks through, 0.4 ms if each has another caller. */
const MOST_WAITING = 512

/** The longest usual time between the creation of an id and its acceptance. */
const LATE_MS = 10_000

export class FreshCalls {
  readonly #monotonicMs: () => number
  readonly #byId = new BriefMap<FreshCall>()
  #low = idAt(0)
  #waiting = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** True if this node may accept the call without a row in `due`. Then it must report what becomes of it. */
  send(instance: Instance, now: number): boolean {
    const { id, state, attempt, settled, dueAt = 0 } = instance
    const isLeased = !isTerminal(state) && attempt > settled && dueAt > now
    return isLeased && this.#add(id, instance, false)
  }

  /** The same for a call that waits for a slot of this node. `instance` is the call with its lease. */
  sendWaiting(instance: Instance): boolean {
    return this.#waiting < MOST_WAITING && this.#add(instance.id, instance, true)
  }

  /**
   * True if this node may claim the call and remove its row in `due`. Then it must report what becomes of it. `dueAt` is
   * the end of the lease. A call whose row in `due` is just being written keeps it.
   */
  claim(candidate: FreshFields): boolean {
    return this.#add(candidate.id, candidate, false)
  }

  #add(id: string, instance: FreshFields, waits: boolean): boolean {
    if (id < this.#low || this.#byId.has(id)) return false
    this.#byId.set(id, { instance, sinceMs: this.#monotonicMs(), waits, state: 'sending' })
    if (waits) this.#waiting++
    return true
  }

  #remove(id: string): void {
    const call = this.#byId.get(id)
    if (call?.waits) this.#waiting--
    this.#byId.delete(id)
  }

  claimed(instance: Instance): void {
    const call = this.#byId.get(instance.id)
    if (!call) return
    if (call.waits) this.#waiting--
    call.instance = instance
    call.waits = false
    call.state = 'fresh'
  }

  accepted(id: string): void {
    const call = this.#byId.get(id)
    if (call) call.state = 'fresh'
  }

  refused(id: string): void {
    this.#remove(id)
  }

  doubt(id: string): void {
    const call = this.#byId.get(id)
    if (call) call.state = 'doubtful'
  }

  /** True if the call has no row in `due`. */
  isFresh(id: string): boolean {
    return this.#byId.get(id)?.state === 'fresh'
  }

  /** Rows of these are being written. `registered` or `unregistered` follows. */
  registering(ids: readonly string[]): void {
    for (const id of ids) {
      const call = this.#byId.get(id)
      if (call?.state === 'fresh') call.state = 'registering'
    }
  }

  registered(ids: readonly string[]): void {
    for (const id of ids) if (this.#byId.get(id)?.state !== 'doubtful') this.#remove(id)
  }

  unregistered(ids: readonly string[]): void {
    for (const id of ids) {
      const call = this.#byId.get(id)
      if (call?.state === 'registering') call.state = 'fresh'
    }
  }

  /** The call has ended, or its row in `due` is written. */
  done(id: string): void {
    this.#remove(id)
  }

  /** Others have taken this node for dead, and have written the rows of its calls. */
  clear(): void {
    for (const { instance, state } of this.#byId.values()) if (state !== 'sending') this.#remove(instance.id)
  }

  /** The calls whose rows must be written: they run for long, or their lease or time is over. */
  due(now: number): string[] {
    const old = this.#monotonicMs() - OLD_MS
    const found: string[] = []
    for (const { instance, sinceMs, state } of this.#byId.values()) {
      const isOver = (instance.dueAt ?? 0) <= now || instance.expiresAt <= now
      if (state === 'fresh' && (sinceMs < old || isOver)) found.push(instance.id)
    }
    return found
  }

  /** The calls that may turn up. Their rows are written again and again, so not with every claim. */
  doubtful(now: number): string[] {
    const old = this.#monotonicMs() - OLD_MS
    return this.#byId
      .values()
      .filter((call) => call.state === 'doubtful' && (call.sinceMs < old || (call.instance.dueAt ?? 0) <= now))
      .map(({ instance }) => instance.id)
  }

  all(): string[] {
    return this.#byId
      .values()
      .filter(({ state }) => state === 'fresh' || state === 'doubtful')
      .map(({ instance }) => instance.id)
  }

  /**
   * Raises the lowest id that a call without a row can have, and returns it. Ids are UUIDs of version 7, so they begin
   * with their time. A call whose id is older than it should be is accepted with a row.
   */
  raiseLow(now: number): string {
    const before = this.#monotonicMs() - DOUBT_MS
    let low = idAt(now - LATE_MS)
    for (const { instance, state, sinceMs } of this.#byId.values()) {
      if (state === 'doubtful' && sinceMs < before) this.#remove(instance.id)
      else if (instance.id < low) low = instance.id
    }
    if (low > this.#low) this.#low = low
    return this.#low
  }

  /**
   * For others without the calls that wait here: these get their rows in `due` before the others read this again, and
   * would count twice.
   */
  counts(forOthers: boolean): CountedRow[] {
    const rows = new Map<string, CountedRow>()
    for (const { instance, waits, state } of this.#byId.values()) {
      if (state === 'sending' || state === 'doubtful' || (waits && forOthers)) continue
      const { tenant, owner, operation } = instance
      const key = JSON.stringify([tenant, owner, operation])
      const row = rows.get(key) ?? { tenant, owner, operation, open: 0, queued: 0 }
      row.open++
      if (waits) row.queued++
      rows.set(key, row)
    }
    return [...rows.values()]
  }
}
