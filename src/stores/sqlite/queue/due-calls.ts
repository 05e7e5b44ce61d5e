/**
 * Tracks which callers have due or future calls of which operations, so that a claim need not search the database. It
 * never misses a call, but may name one that is gone: a time here is the earliest at which a call may be due. When the
 * database shows another time, `settle` corrects it.
 */
import { FairTurns } from '../../../core/fairness/fair-turns.ts'
import type { SlotOwner } from '../../../core/fairness/slot-shares.ts'
import { DueHeap } from './due-heap.ts'

/** The calls of one operation of one caller. */
export interface DuePair {
  readonly of: DueCaller
  readonly operation: string
  at: number
  /** Its time has come. Stays true until a claim finds no due call. */
  ready: boolean
}

export interface DueCaller extends SlotOwner {
  readonly pairs: Map<string, DuePair>
  /** True if it is among the callers that take turns. */
  waits: boolean
}

export class DueCalls {
  readonly #callers = new Map<string, Map<string, DueCaller>>()
  readonly #byOperation = new Map<string, DueHeap<DuePair>>()
  readonly turns = new FairTurns<DueCaller>()
  /** True after a rollback or a bulk change of times: the content may be wrong. */
  #doubtful = true
  /** Many commits have calls of only one caller. Caching its pair saves one percent of a durable call. */
  #last: DuePair | undefined

  get isDoubtful(): boolean {
    return this.#doubtful
  }

  doubt(): void {
    this.#doubtful = true
  }

  /** Starts again with these calls. */
  renew(due: Iterable<{ tenant: string; owner: string; operation: string; dueAt: number }>): void {
    this.#last = undefined
    this.#callers.clear()
    this.#byOperation.clear()
    this.turns.clear()
    this.#doubtful = false
    for (const each of due) this.note(each)
  }

  /** A call is due at this time or later. */
  note({ tenant, owner, operation, dueAt }: SlotOwner & { operation: string; dueAt?: number }): void {
    if (dueAt === undefined || this.#doubtful) return
    const last = this.#last
    const isLast = last?.operation === operation && last.of.owner === owner && last.of.tenant === tenant
    const pair = isLast ? last : this.#pairOf(tenant, owner, operation)
    this.#last = pair
    if (dueAt < pair.at && !pair.ready) this.#expect(pair, dueAt)
  }

  /** Adds the callers whose calls of these operations have become due to the turns. */
  advance(now: number, operations: ReadonlySet<string>): void {
    for (const [operation, heap] of this.#byOperation) {
      if (!operations.has(operation)) continue
      for (let next = current(heap); next && next.at <= now; next = current(heap)) {
        heap.pop()
        next.ready = true
        if (next.of.waits) continue
        next.of.waits = true
        this.turns.add(next.of, next.of)
      }
    }
  }

  /** Sets the due time of the next call. Undefined if there is no call. */
  settle(pair: DuePair, dueAt: number | undefined): void {
    const { of: caller, operation } = pair
    pair.ready = false
    if (dueAt !== undefined) {
      this.#expect(pair, dueAt)
      return
    }
    pair.at = Number.POSITIVE_INFINITY
    this.#last = undefined
    caller.pairs.delete(operation)
    if (caller.pairs.size > 0) return
    const ofTenant = this.#callers.get(caller.tenant)
    ofTenant?.delete(caller.owner)
    if (ofTenant?.size === 0) this.#callers.delete(caller.tenant)
  }

  /** The earliest future due time of these operations. `look` reads the true due time of a pair, if it has one. */
  firstDue(operations: ReadonlySet<string>, look: (pair: DuePair) => number | undefined): number | undefined {
    for (;;) {
      const first = this.#firstExpected(operations)
      if (!first) return undefined
      const dueAt = look(first)
      if (dueAt === first.at) return dueAt
      this.settle(first, dueAt)
    }
  }

  #firstExpected(operations: ReadonlySet<string>): DuePair | undefined {
    let first: DuePair | undefined
    for (const [operation, heap] of this.#byOperation) {
      if (!operations.has(operation)) continue
      const next = current(heap)
      if (!next) this.#byOperation.delete(operation)
      else if (!first || next.at < first.at) first = next
    }
    return first
  }

  #expect(pair: DuePair, dueAt: number): void {
    const heap = this.#byOperation.get(pair.operation) ?? new DueHeap()
    this.#byOperation.set(pair.operation, heap)
    pair.at = dueAt
    heap.push(dueAt, pair)
  }

  #pairOf(tenant: string, owner: string, operation: string): DuePair {
    const ofTenant = this.#callers.get(tenant) ?? new Map<string, DueCaller>()
    if (ofTenant.size === 0) this.#callers.set(tenant, ofTenant)
    const caller = ofTenant.get(owner) ?? { tenant, owner, pairs: new Map(), waits: false }
    if (caller.pairs.size === 0) ofTenant.set(owner, caller)
    const known = caller.pairs.get(operation)
    if (known) return known
    const pair: DuePair = { of: caller, operation, at: Number.POSITIVE_INFINITY, ready: false }
    caller.pairs.set(operation, pair)
    return pair
  }
}

/** The first entry of the heap. Entries whose time has changed since are removed. */
function current(heap: DueHeap<DuePair>): DuePair | undefined {
  for (let first = heap.first; first; first = heap.first) {
    if (!first.of.ready && first.of.at === first.at) return first.of
    heap.pop()
  }
  return undefined
}
