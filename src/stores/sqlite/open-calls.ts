/**
 * The number of open calls by caller and by operation. The counts are updated with every change, because counting in the
 * file reads every open call. Only this process uses the file, so it is counted once when it is opened, and again after
 * a change that may have made the counts wrong.
 */
import { type Instance, isQueued, startsOf } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import { OwnerCounts } from '../../core/fairness/owner-counts.ts'
import type { Change, OpenCounts } from '../../core/ports/store.ts'

export interface CountedRow {
  tenant: string
  owner: string
  operation: string
  open: number
  queued: number
}

/** An entry with 0 calls stays until the counts are read, because frequent deletions make a map slow. */
type Tally = Map<string, { calls: number }>

export class OpenCalls {
  readonly #count: () => readonly CountedRow[]
  readonly #byOwner = new OwnerCounts()
  #byOperation: Tally = new Map()
  #queued = 0
  #isDoubtful = true

  constructor(count: () => readonly CountedRow[]) {
    this.#count = count
  }

  /** A transaction was rolled back, so the counts may be wrong. */
  doubt(): void {
    this.#isDoubtful = true
  }

  accepted(instance: Instance): void {
    if (!isTerminal(instance.state)) this.#add(instance, 1)
  }

  /** Takes the instance as it is after the claim. */
  claimed(instance: Instance): void {
    if (startsOf(instance) === 1 && !instance.extras?.held) this.#queued--
  }

  /** Takes the applied change and the instance after it. */
  advanced({ from, to, settled, extras }: Change, after: Instance): void {
    const mayReopen = !from.every(isOpen)
    const mayLeaveTheQueue = extras !== undefined && after.attempt === 0
    if (mayReopen || mayLeaveTheQueue) this.doubt()
    else if (isTerminal(to)) this.#add(after, -1)
    // It was handed back before its handler was started.
    else if (settled !== undefined && extras && isQueued(after)) this.#queued++
  }

  counts(): OpenCounts {
    if (this.#isDoubtful) this.#recount()
    return { queued: this.#queued, byOwner: this.#byOwner.list(), byOperation: read(this.#byOperation) }
  }

  #add(instance: Instance, calls: number): void {
    this.#byOwner.add(instance, calls)
    add(this.#byOperation, instance.operation, calls)
    if (isQueued(instance)) this.#queued += calls
  }

  #recount(): void {
    this.#byOwner.clear()
    this.#byOperation = new Map()
    this.#queued = 0
    for (const row of this.#count()) {
      this.#byOwner.add(row, row.open)
      add(this.#byOperation, row.operation, row.open)
      this.#queued += row.queued
    }
    this.#isDoubtful = false
  }
}

function isOpen(state: Instance['state']): boolean {
  return !isTerminal(state)
}

function add(tally: Tally, key: string, calls: number): void {
  const known = tally.get(key)
  if (known) known.calls += calls
  else tally.set(key, { calls })
}

function read(tally: Tally): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [key, { calls }] of tally) {
    if (calls === 0) tally.delete(key)
    else counts.set(key, calls)
  }
  return counts
}
