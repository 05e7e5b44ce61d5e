/**
 * The calls that wait for a slot of this node and have no row in `due`. Most of them wait for some milliseconds, so that
 * a row would be written and removed for nothing. Those that wait for longer get their rows, and the other nodes get a
 * hint, so that any node with a free slot can take them.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { encodeText } from '../sql/plain-text.ts'
import { type Candidate, type DueCaller, keyOf } from './choice.ts'
import type { Look } from './look.ts'

export interface WaitingHereParts {
  clock: Clock
  log: Log | undefined
  /** Writes the rows of these calls. */
  register(ids: readonly string[]): Promise<void>
  /** There are calls for other nodes. */
  wakeOthers(): void
}

/** Long beside the wait for a slot of a busy node, and short beside the seconds after which an idle node looks for calls. */
const WAIT_MS = 250
/** While no other call was due, calls that wait here are claimed without a look into `due` for this long. */
const LOOK_EVERY_MS = 100

interface Waiting extends Candidate {
  sinceMs: number
}

export class WaitingHere {
  readonly #parts: WaitingHereParts
  readonly #byId = new BriefMap<Waiting>()
  /** Until when the last look into `due`, which found nothing, counts. */
  #emptyUntil = 0
  #nextDueAt: number | undefined
  #lookedFor: ReadonlySet<string> | undefined
  #behindOthers = false
  /** Rows were written into `due` since the last look began. */
  #changed = false
  #cancelTimer: (() => void) | undefined
  #ended = false

  constructor(parts: WaitingHereParts) {
    this.#parts = parts
  }

  /** False if calls wait in `due`. A call that waits behind them needs its row, and it is cheapest to write it at once. */
  get takesMore(): boolean {
    return !this.#behindOthers
  }

  get size(): number {
    return this.#byId.size
  }

  /** A call was accepted. */
  add({ id, operation, tenant, owner, dueAt = 0 }: Instance, generation: number): void {
    const who = { tenant: encodeText(tenant), owner: encodeText(owner) }
    const sinceMs = this.#parts.clock.monotonicMs()
    this.#byId.set(id, {
      id,
      generation,
      operation: encodeText(operation),
      ...who,
      due_at: dueAt,
      waits: true,
      sinceMs,
    })
    this.#registerLater()
  }

  /** A claim takes it, or it has ended. False if it does not wait here. */
  remove(id: string): boolean {
    return this.#byId.delete(id)
  }

  /** The waiting calls of these operations that were due at this time, as they would be found in `due`. */
  callers(operations: ReadonlySet<string>, at: number): DueCaller[] {
    const callers = new Map<string, DueCaller>()
    for (const call of this.#byId.values()) {
      if (!operations.has(call.operation) || call.due_at > at) continue
      const key = keyOf(call)
      const caller = callers.get(key)
      if (caller) caller.calls.push(call)
      else callers.set(key, { tenant: call.tenant, owner: call.owner, calls: [call], cutOff: new Set() })
    }
    return [...callers.values()]
  }

  /** A claim begins to look into `due` for these operations. */
  looking(operations: ReadonlySet<string>): void {
    this.#lookedFor = operations
    this.#changed = false
  }

  /** It has looked. */
  looked(at: number, { callers, nextDueAt }: Look): void {
    this.#behindOthers = callers.length > 0
    this.#nextDueAt = nextDueAt
    const until = Math.min(at + LOOK_EVERY_MS, nextDueAt ?? Number.POSITIVE_INFINITY)
    this.#emptyUntil = this.#behindOthers || this.#changed ? 0 : until
  }

  /**
   * What the last look into `due` found, which was nothing, and until when that counts. `undefined` if a claim of these
   * operations has to look.
   */
  lastLook(operations: ReadonlySet<string>, at: number): { seen: Look; until: number } | undefined {
    if (at >= this.#emptyUntil || operations !== this.#lookedFor) return undefined
    if (!this.#byId.values().some(({ operation }) => operations.has(operation))) return undefined
    return { seen: { callers: [], nextDueAt: this.#nextDueAt, children: false }, until: this.#emptyUntil }
  }

  /** Rows were written into `due`. */
  dueChanged(): void {
    this.#changed = true
    this.#emptyUntil = 0
  }

  /** Any node may take all calls that wait here. */
  async release(): Promise<void> {
    await this.#register(this.#byId.keys())
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
  }

  #registerLater(): void {
    if (this.#cancelTimer || this.#ended) return
    this.#cancelTimer = this.#parts.clock.schedule(WAIT_MS, () => {
      this.#cancelTimer = undefined
      void this.#registerOld()
    })
  }

  async #registerOld(): Promise<void> {
    const { clock, log, wakeOthers } = this.#parts
    const before = clock.monotonicMs() - WAIT_MS
    const old = this.#byId.values().filter(({ sinceMs }) => sinceMs <= before)
    try {
      await this.#register(old.map(({ id }) => id))
      if (old.length > 0) wakeOthers()
    } catch (err) {
      log?.debug({ err }, 'could not offer waiting calls to other nodes; trying again')
    }
    if (this.size > 0) this.#registerLater()
  }

  async #register(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const calls = ids.map((id) => this.#byId.get(id) as Waiting)
    // A claim must not take them meanwhile.
    for (const id of ids) this.#byId.delete(id)
    try {
      await this.#parts.register(ids)
    } catch (thrown) {
      for (const call of calls) this.#byId.set(call.id, call)
      this.#registerLater()
      throw thrown
    }
  }
}
