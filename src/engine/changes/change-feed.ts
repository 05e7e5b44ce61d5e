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
import { ChangeRing, type Heard } from './change-ring.ts'

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

/** So many calls are remembered with their last state. */
const MOST_TOLD = 5_000
const MOST_WAITING = 10_000
/** Changes of one moment are told together. */
const GATHER_MS = 50
/** It goes on listening for this long after the last wait. */
const LINGER_MS = 60_000
interface Waiter {
  asked: Asked
  wake: () => void
  end: () => void
}

/** The changes of a tenant, and those who wait for them. It exists while its operators ask. */
interface Desk {
  ring: ChangeRing
  waiting: Set<Waiter>
  askedAt: number
}

export class ChangeFeed {
  readonly #parts: ChangeFeedParts
  readonly #desks = new Map<string, Desk>()
  /** The last state of each call that was told, so that changes of leases and progress are not told. */
  readonly #told = new Map<string, string>()
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
    const before = this.#parts.clock.now() - LINGER_MS
    for (const [tenant, { waiting, askedAt }] of this.#desks)
      if (waiting.size === 0 && askedAt < before) this.#desks.delete(tenant)
    if (this.#waiters > 0) this.listen()
    else this.stop()
  }

  /** Requests that wait are answered at once. */
  release(): void {
    for (const { waiting } of this.#desks.values()) for (const { end } of waiting) end()
  }

  stop(): void {
    this.lose()
    this.release()
    this.#desks.clear()
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
    if (this.#told.size > MOST_TOLD) this.#told.delete(this.#told.keys().next().value as string)
    this.#noteHere(noted)
  }

  #noteHere(noted: Noted): void {
    this.note(noted)
    this.onNoted?.(noted)
  }

  /** Changes before this may be missing. Every operator who was told less than this is told to look again. */
  lose(): void {
    for (const { ring, waiting } of this.#desks.values()) {
      ring.lose()
      for (const { wake } of waiting) wake()
    }
  }

  /** A change of this process or of another one. */
  note(noted: Noted): void {
    const desk = this.#desks.get(noted.tenant)
    desk?.ring.add(noted)
    for (const { asked, wake } of desk?.waiting ?? []) if (asked.passes(noted)) wake()
  }

  async wait(asked: Asked): Promise<Heard> {
    this.listen()
    const { ring, waiting } = this.#deskOf(asked.tenant)
    await this.onWanted?.()
    const seq = asked.after === undefined ? ring.end : ring.placeOf(asked.after)
    if (seq === undefined) return ring.lookAgain()
    const already = ring.since(seq, asked.passes)
    if (already.events.length > 0 || already.reset || asked.waitMs <= 0) return already
    await this.#untilChanged(asked, waiting)
    return ring.since(seq, asked.passes)
  }

  #deskOf(tenant: string): Desk {
    const { clock, node } = this.#parts
    const askedAt = clock.now()
    const known = this.#desks.get(tenant)
    if (known) {
      known.askedAt = askedAt
      return known
    }
    const ring = new ChangeRing({
      name: `${node}-${askedAt}`,
      now: () => clock.now(),
      completeUntil: () => this.completeUntil?.() ?? clock.now(),
    })
    const desk: Desk = { ring, waiting: new Set(), askedAt }
    this.#desks.set(tenant, desk)
    return desk
  }

  async #untilChanged(asked: Asked, waiting: Set<Waiter>): Promise<void> {
    const { waitMs, signal } = asked
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
    waiting.add(waiter)
    this.#waiters++
    const cancel = clock.schedule(waitMs, changed.resolve)
    const abort = () => changed.resolve()
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (!signal.aborted) await changed.promise
    } finally {
      cancel()
      signal.removeEventListener('abort', abort)
      this.#waiters--
      waiting.delete(waiter)
    }
  }
}
