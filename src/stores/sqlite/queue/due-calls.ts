/**
 * Which callers have calls of which operations that are due or will be, so that a claim need not look for them: the calls
 * themselves are in the database. It never misses one, and may name one that is gone: a time here is the earliest that a
 * call may be due. Whoever looks and finds another time says so (`settle`).
 */
import { FairTurns } from '../../../core/fairness/fair-turns.ts'
import type { SlotOwner } from '../../../core/fairness/slot-shares.ts'
import { DueHeap } from './due-heap.ts'

/** The calls of one operation of one caller. */
export interface DuePair {
  readonly of: DueCaller
  readonly operation: string
  at: number
  /** Its time has come: it stays so until somebody finds that there is none left. */
  ready: boolean
}

export interface DueCaller extends SlotOwner {
  readonly pairs: Map<string, DuePair>
  /** Whether its turn comes. */
  waits: boolean
}

export class DueCalls {
  readonly #callers = new Map<string, Map<string, DueCaller>>()
  readonly #byOperation = new Map<string, DueHeap<DuePair>>()
  readonly turns = new FairTurns<DueCaller>()
  /** What is here was learnt from a transaction that was undone, or times were changed in bulk. */
  #doubtful = true
  /** Many commits hold calls of one caller: not looking its pair up again saves a percent of a durable call. */
  #last: DuePair | undefined

  get isDoubtful(): boolean {
    return this.#doubtful
  }

  doubt(): void {
    this.#doubtful = true
  }

  /** Begins anew, with these. */
  renew(due: Iterable<{ tenant: string; owner: string; operation: string; dueAt: number }>): void {
    this.#last = undefined
    this.#callers.clear()
    this.#byOperation.clear()
    this.turns.clear()
    this.#doubtful = false
    for (const each of due) this.note(each)
  }

  /** A call is due then, or later. */
  note({ tenant, owner, operation, dueAt }: SlotOwner & { operation: string; dueAt?: number }): void {
    if (dueAt === undefined || this.#doubtful) return
    const last = this.#last
    const isLast = last?.operation === operation && last.of.owner === owner && last.of.tenant === tenant
    const pair = isLast ? last : this.#pairOf(tenant, owner, operation)
    this.#last = pair
    if (dueAt < pair.at && !pair.ready) this.#expect(pair, dueAt)
  }

  /** Lets the callers wait for their turn whose calls of these operations have become due. */
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

  /** The next call of it is due then; never, if there is none. */
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

  /** Of what is not due yet, the first of these operations: `look` says when it is really due, if ever. */
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

/** Without those whose time has changed since. */
function current(heap: DueHeap<DuePair>): DuePair | undefined {
  for (let first = heap.first; first; first = heap.first) {
    if (!first.of.ready && first.of.at === first.at) return first.of
    heap.pop()
  }
  return undefined
}
