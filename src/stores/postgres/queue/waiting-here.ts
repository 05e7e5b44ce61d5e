/**
 * The calls that wait for a slot of this node. The commit that accepted such a call has claimed it for this node, too. So
 * the call has no row in `due`, and is handed out without a write. Most of them wait for some milliseconds. Those that wait
 * for longer are given back, and the other nodes get a hint, so that any node with a free slot can take them.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { Advanced } from '../../../core/ports/store.ts'
import type { Encoded } from '../calls/accepted-columns.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import type { Held, HeldCalls } from '../nodes/held-calls.ts'
import { encodeText } from '../sql/plain-text.ts'
import { type Candidate, type DueCaller, firstDue, keyOf } from './choice.ts'
import type { Look } from './look.ts'

export interface WaitingHereParts {
  clock: Clock
  log: Log | undefined
  held: HeldCalls
  fresh: FreshCalls
  /** Writes that this node gives up its claim, and that the call is due for any node since this time. */
  giveBack(instance: Instance, dueAt: number): Promise<Advanced>
  /** A call was given back. `args` are its arguments as JSON. */
  queued(instance: Instance, args: string): void
  /** A call was handed out. Its row does not say so yet. */
  begun(id: string): void
  /** This node should claim now. */
  wakeHere(): void
  /** There are calls for other nodes. */
  wakeOthers(): void
}

/** Long beside the wait for a slot of a busy node, and short beside the seconds after which an idle node looks for calls. */
const WAIT_MS = 250
/** While no other call was due, calls that wait here are claimed without a look into `due` for this long. */
const LOOK_EVERY_MS = 100
/** The part of a lease that must be left when a call is handed out. A worker renews leases after a third of their length. */
const LEAST_LEASE = 0.5

interface Waiting extends Candidate {
  /** The arguments as JSON. Not the ones that were accepted: the caller in this process may have changed them since. */
  args: string
  sinceMs: number
}

export class WaitingHere {
  readonly #parts: WaitingHereParts
  readonly #byId = new BriefMap<Waiting>()
  /** Those of them whose stop was requested. They need no slot. */
  readonly #stopped = new Set<string>()
  /** Those that another node has changed, until they are read. They may be stopped, or have ended. */
  readonly #suspended = new Set<string>()
  /** Calls that could not be given back. This node does not start them any more. */
  #leaving: Waiting[] = []
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

  /**
   * False if a call has waited in `due` for so long that a call that waits behind it would be given back. It is cheapest
   * to write the row of such a call at once.
   */
  get takesMore(): boolean {
    return !this.#behindOthers
  }

  get size(): number {
    return this.#byId.size
  }

  /**
   * Another node has changed the call. False if it does not wait here. Otherwise it is not handed out until `changed`. If
   * that never comes, it is given back after `WAIT_MS`.
   */
  suspend(id: string): boolean {
    if (!this.#byId.has(id)) return false
    this.#suspended.add(id)
    return true
  }

  /** A call was accepted and claimed. */
  add({ instance, args, dueAt = 0 }: Pick<Encoded, 'instance' | 'args' | 'dueAt'>, generation: number): void {
    const { id, operation, tenant, owner } = instance
    this.#byId.set(id, {
      id,
      generation,
      operation: encodeText(operation),
      tenant: encodeText(tenant),
      owner: encodeText(owner),
      due_at: dueAt,
      waits: true,
      args,
      sinceMs: this.#parts.clock.monotonicMs(),
    })
    this.#tickLater()
  }

  /** The call has ended, or others may take it. */
  drop(id: string): void {
    if (!this.#remove(id)) return
    this.#parts.fresh.done(id)
    this.#parts.held.ended(id)
  }

  /** A call as it is now. */
  changed({ id, stopRequested }: Instance): void {
    if (!this.#byId.has(id)) return
    const wasSuspended = this.#suspended.delete(id)
    if (!this.#parts.held.get(id)) this.drop(id)
    else if (stopRequested) this.#stopped.add(id)
    if (wasSuspended || stopRequested) this.#parts.wakeHere()
  }

  /** Hands out those of these calls that wait here and that this node still has. */
  handOut(ids: readonly string[], at: number, leaseMs: number): Instance[] {
    const instances: Instance[] = []
    for (const id of ids) {
      const call = this.#byId.get(id)
      if (!call) continue
      this.#remove(id)
      const held = this.#parts.held.entry(id)
      if (!held) continue
      const { dueAt = 0, expiresAt } = held.instance
      if (dueAt - at >= leaseMs * LEAST_LEASE && expiresAt > at) instances.push(this.#begin(call, held, at))
      else void this.#giveBackAll([call])
    }
    return instances
  }

  #begin({ id, args }: Waiting, held: Held, at: number): Instance {
    const instance: Instance = { ...held.instance, args: JSON.parse(args), state: 'pending' }
    held.instance = instance
    held.begunAt = at
    this.#parts.fresh.claimed(instance)
    this.#parts.begun(id)
    return instance
  }

  /** The same for those whose stop was requested. */
  handOutStopped(at: number, leaseMs: number): Instance[] {
    return this.#stopped.size === 0 ? [] : this.handOut([...this.#stopped], at, leaseMs)
  }

  /** The waiting calls of these operations that were due at this time, as they would be found in `due`. */
  callers(operations: ReadonlySet<string>, at: number): DueCaller[] {
    const callers = new Map<string, DueCaller>()
    for (const call of this.#byId.values()) {
      if (!operations.has(call.operation) || call.due_at > at || this.#suspended.has(call.id)) continue
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
    const [first] = callers
    this.#behindOthers = first !== undefined && at - firstDue(first) > WAIT_MS
    this.#nextDueAt = nextDueAt
    const until = Math.min(at + LOOK_EVERY_MS, nextDueAt ?? Number.POSITIVE_INFINITY)
    this.#emptyUntil = first || this.#changed ? 0 : until
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
    await this.#leave(this.#byId.values())
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
  }

  #remove(id: string): boolean {
    this.#stopped.delete(id)
    this.#suspended.delete(id)
    return this.#byId.delete(id)
  }

  #tickLater(): void {
    if (this.#cancelTimer || this.#ended) return
    this.#cancelTimer = this.#parts.clock.schedule(WAIT_MS, () => {
      this.#cancelTimer = undefined
      void this.#giveBackOld()
    })
  }

  async #giveBackOld(): Promise<void> {
    const before = this.#parts.clock.monotonicMs() - WAIT_MS
    const old = this.#byId.values().filter(({ sinceMs }) => sinceMs <= before)
    if ((await this.#leave(old)) > 0) this.#parts.wakeOthers()
    if (this.size > 0) this.#tickLater()
  }

  /** Gives back these calls, and those that could not be given back before. Returns their number. */
  async #leave(calls: readonly Waiting[]): Promise<number> {
    // A claim must not take them meanwhile.
    for (const { id } of calls) this.#remove(id)
    const leaving = [...this.#leaving, ...calls]
    this.#leaving = []
    await this.#giveBackAll(leaving)
    return leaving.length
  }

  async #giveBackAll(calls: readonly Waiting[]): Promise<void> {
    await Promise.all(calls.map((call) => this.#giveBack(call)))
  }

  /** If this node cannot write it before the lease is over, the call is due at its end. */
  async #giveBack(call: Waiting): Promise<void> {
    const { held, giveBack, queued, log } = this.#parts
    const instance = held.get(call.id)
    if (!instance) return
    try {
      const { applied, instance: after } = await giveBack(instance, call.due_at)
      if (applied && after) queued(after, call.args)
    } catch (err) {
      log?.debug({ err }, 'could not give back a waiting call; trying again')
      this.#leaving.push(call)
      this.#tickLater()
    }
  }
}
