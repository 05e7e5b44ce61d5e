/**
 * Tells waiting operators of changes. It listens only while an operator waits, or while another node says that one
 * waits there, so that it costs nothing otherwise. It keeps the last changes, for those who come back for more. An
 * operator who may have missed changes is told so, always, and then reads the lists again.
 */
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Approval } from '../wait/approvals.ts'
import { approvalChanged, callChanged, type Noted } from './change.ts'

export interface ChangeFeedParts {
  clock: Clock
  store: Pick<Store, 'listen'>
  /** Calls back with every approval that this process opens or decides. Returns a function that ends it. */
  approvals: { listen(changed: (approval: Approval) => void): () => void }
  /** A name of this process that no other has. */
  node: string
}

export interface Asked {
  tenant: string
  /** The `next` of an earlier answer. */
  after?: string
  passes(noted: Noted): boolean
  waitMs: number
  signal: AbortSignal
}

export interface Heard {
  events: Noted[]
  next: string
  /** Changes may have been missed. */
  reset?: true
}

const MOST_KEPT = 5_000
const MOST_EVENTS = 200
const MOST_WAITING = 10_000
/** Changes of one moment are told together. */
const GATHER_MS = 50
/** It goes on listening for this long after the last wait. */
const LINGER_MS = 60_000
/** How much later a change of another node can arrive. */
const LATE_MS = 5_000

interface Entry {
  seq: number
  arrivedAt: number
  noted: Noted
}

interface Waiter {
  asked: Asked
  wake: () => void
  end: () => void
}

export class ChangeFeed {
  readonly #parts: ChangeFeedParts
  readonly #waiting = new Map<string, Set<Waiter>>()
  /** The last state of each call that was told, so that changes of leases and progress are not told. */
  readonly #told = new Map<string, string>()
  /** All changes after the one with the number `#goneSeq`. Their numbers follow each other. */
  #entries: Entry[] = []
  #seq = 0
  /** Up to this number, and up to this time, changes may be missing. */
  #goneSeq = 0
  #goneAt = Number.NEGATIVE_INFINITY
  #waiters = 0
  #stopListening: (() => void) | undefined
  #cancelLinger = () => {}
  /** Called with every change of this process. */
  onNoted: ((noted: Noted) => void) | undefined
  /** Called when an operator waits. The wait begins once its promise has settled. */
  onWanted: (() => Promise<void> | undefined) | undefined
  /** Up to this time all changes of other processes are here. Absent: there are no other processes. */
  completeUntil: (() => number) | undefined

  constructor(parts: ChangeFeedParts) {
    this.#parts = parts
  }

  get isListening(): boolean {
    return this.#stopListening !== undefined
  }

  /** Listens for a while. */
  listen(): void {
    const { clock, store, approvals } = this.#parts
    this.#cancelLinger()
    this.#cancelLinger = clock.schedule(LINGER_MS, () => this.#rest())
    if (this.#stopListening) return
    this.lose()
    const stops = [
      store.listen((instance) => this.#callChanged(instance)),
      approvals.listen((approval) => this.#noteHere(approvalChanged(approval, clock.now()))),
    ]
    this.#stopListening = () => {
      for (const stop of stops) stop()
    }
  }

  #rest(): void {
    if (this.#waiters > 0) this.listen()
    else this.stop()
  }

  /** Requests that wait are answered at once. */
  release(): void {
    for (const waiting of this.#waiting.values()) for (const { end } of waiting) end()
  }

  stop(): void {
    this.lose()
    this.release()
    this.#cancelLinger()
    this.#stopListening?.()
    this.#stopListening = undefined
    this.#told.clear()
  }

  #callChanged(instance: Instance): void {
    const noted = callChanged(instance, this.#parts.clock.now())
    const text = `${noted.state} ${noted.held ?? ''}`
    if (this.#told.get(noted.id) === text) return
    this.#told.delete(noted.id)
    if (noted.endedAt === undefined) this.#told.set(noted.id, text)
    if (this.#told.size > MOST_KEPT) this.#told.delete(this.#told.keys().next().value as string)
    this.#noteHere(noted)
  }

  #noteHere(noted: Noted): void {
    this.note(noted)
    this.onNoted?.(noted)
  }

  /** Changes before this may be missing. Every operator who was told less than this is told to look again. */
  lose(): void {
    // A number of its own, so that a cursor from before differs.
    this.#goneSeq = ++this.#seq
    this.#goneAt = this.#parts.clock.now()
    this.#entries = []
    for (const waiting of this.#waiting.values()) for (const { wake } of waiting) wake()
  }

  /** A change of this process or of another one. */
  note(noted: Noted): void {
    this.#entries.push({ seq: ++this.#seq, arrivedAt: this.#parts.clock.now(), noted })
    // Removing many at once is cheaper than one each time.
    if (this.#entries.length > 2 * MOST_KEPT) {
      const gone = this.#entries.at(-MOST_KEPT - 1) as Entry
      this.#goneSeq = gone.seq
      this.#goneAt = gone.arrivedAt
      this.#entries = this.#entries.slice(-MOST_KEPT)
    }
    for (const { asked, wake } of this.#waiting.get(noted.tenant) ?? []) if (asked.passes(noted)) wake()
  }

  async wait(asked: Asked): Promise<Heard> {
    this.listen()
    await this.onWanted?.()
    const seq = this.#placeOf(asked.after)
    if (seq === undefined) return this.#lookAgain()
    const already = this.#since(seq, asked)
    if (already.events.length > 0 || already.reset || asked.waitMs <= 0) return already
    await this.#untilChanged(asked)
    return this.#since(seq, asked)
  }

  /** `undefined` if changes may have been missed. A cursor of another process stands for a time. */
  #placeOf(after: string | undefined): number | undefined {
    if (after === undefined) return this.#seq
    const [node, number = '', time = ''] = after.split('.')
    if (node === this.#parts.node) {
      const seq = Number(number)
      return seq >= this.#goneSeq && seq <= this.#seq ? seq : undefined
    }
    // Within this time, the two processes may have heard of changes in another order. Some are then told twice.
    const from = Number(time) - LATE_MS
    if (!Number.isSafeInteger(from) || from <= this.#goneAt) return undefined
    const first = this.#entries.find(({ arrivedAt }) => arrivedAt >= from)
    return first ? first.seq - 1 : this.#seq
  }

  #since(seq: number, { tenant, passes }: Asked): Heard {
    if (seq < this.#goneSeq) return this.#lookAgain()
    const events: Noted[] = []
    for (let at = seq - this.#goneSeq; at < this.#entries.length; at++) {
      const { noted, seq: last, arrivedAt } = this.#entries[at] as Entry
      if (noted.tenant !== tenant || !passes(noted)) continue
      events.push(noted)
      if (events.length >= MOST_EVENTS) return { events, next: this.#cursor(last, arrivedAt) }
    }
    return { events, next: this.#cursor(this.#seq) }
  }

  /** What has come since the loss is told next. If it is much, the lists have it already when they are read again. */
  #lookAgain(): Heard {
    const isMuch = this.#entries.length > MOST_EVENTS
    const next = isMuch ? this.#cursor(this.#seq) : this.#cursor(this.#goneSeq, this.#goneAt)
    return { events: [], next, reset: true }
  }

  /** `at`: when the change with this number arrived. Other processes go by the time. */
  #cursor(seq: number, at = this.#parts.clock.now()): string {
    return `${this.#parts.node}.${seq}.${Math.min(at, this.completeUntil?.() ?? at)}`
  }

  async #untilChanged(asked: Asked): Promise<void> {
    const { tenant, waitMs, signal } = asked
    if (this.#waiters >= MOST_WAITING) {
      throw new Fault('overloaded', 'Too many requests wait for changes here. Try again later.', {
        retryAfterMs: 5_000,
      })
    }
    const { clock } = this.#parts
    const changed = Promise.withResolvers<void>()
    let isWoken = false
    const wake = () => {
      if (!isWoken) clock.schedule(GATHER_MS, changed.resolve)
      isWoken = true
    }
    const waiter: Waiter = { asked, wake, end: changed.resolve }
    const waiting = this.#waiting.get(tenant) ?? new Set()
    this.#waiting.set(tenant, waiting.add(waiter))
    this.#waiters++
    const cancel = clock.schedule(waitMs, changed.resolve)
    signal.addEventListener('abort', () => changed.resolve(), { once: true })
    try {
      if (!signal.aborted) await changed.promise
    } finally {
      cancel()
      this.#waiters--
      waiting.delete(waiter)
      if (waiting.size === 0) this.#waiting.delete(tenant)
    }
  }
}
