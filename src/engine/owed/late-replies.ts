/**
 * Sends the ends of calls to callers whose connection was lost with its process. It looks at the notes of the carriers
 * that this server has; a server without a carrier leaves its notes to others. A caller may get an end twice.
 */
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { LateReplies, SendLateReply } from '../../core/ports/late-replies.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { replyTo } from '../end/replies.ts'
import { hasEnded } from '../follow/waiting.ts'
import { type Note, prefixOf } from './notes.ts'
import type { OwedReplies } from './owed-replies.ts'

export interface LateSendingParts {
  env: Environment
  store: Store
  owed: OwedReplies
}

/** The process that accepted the call gets this long to send its end itself. */
const HOLD_MS = 5_000
const SWEEP_EVERY_MS = 5_000
const LONGEST_WAIT_MS = 60_000
/** A node that claims a note and is lost is waited for this long. */
const CLAIM_MS = 30_000
const BATCH = 100

export class LateSending implements LateReplies {
  readonly #parts: LateSendingParts
  readonly #stopping = new AbortController()
  readonly #cancel = new Map<string, () => void>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(parts: LateSendingParts) {
    this.#parts = parts
  }

  add(carrier: string, send: SendLateReply): void {
    this.#schedule(carrier, send, 0)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const cancel of this.#cancel.values()) cancel()
    await Promise.all(this.#underWay)
  }

  #schedule(carrier: string, send: SendLateReply, afterMs: number): void {
    if (this.#stopping.signal.aborted) return
    const sweep = () => {
      const sweeping = this.#sweepAndGoOn(carrier, send, afterMs).finally(() => this.#underWay.delete(sweeping))
      this.#underWay.add(sweeping)
    }
    this.#cancel.set(carrier, this.#parts.env.clock.schedule(afterMs, sweep))
  }

  /** Waits longer from time to time while the carrier or the storage is away. */
  async #sweepAndGoOn(carrier: string, send: SendLateReply, waitedMs: number): Promise<void> {
    let nextMs = SWEEP_EVERY_MS
    try {
      await this.#sweep(carrier, send)
    } catch (thrown) {
      nextMs = Math.min(Math.max(waitedMs, SWEEP_EVERY_MS) * 2, LONGEST_WAIT_MS)
      if (!this.#stopping.signal.aborted)
        this.#parts.env.log.warn({ err: thrown, carrier }, 'could not send replies that are owed; trying again')
    }
    this.#schedule(carrier, send, nextMs)
  }

  /** Rejects if the carrier can send nothing now. */
  async #sweep(carrier: string, send: SendLateReply): Promise<void> {
    const { records } = this.#parts.store
    const prefix = prefixOf(carrier)
    let page = await records.list(prefix, BATCH)
    while (page.length > 0 && !this.#stopping.signal.aborted) {
      const tries = await Promise.allSettled(page.map(({ key, value }) => this.#settle(key, value, send)))
      for (const one of tries) if (one.status === 'rejected') throw one.reason
      page = await records.list(prefix, BATCH, page.at(-1)?.key)
    }
  }

  async #settle(key: string, value: string, send: SendLateReply): Promise<void> {
    const { env, store, owed } = this.#parts
    const note = JSON.parse(value) as Note
    if (owed.isHere(key) || (note.claimedUntil ?? 0) > env.clock.now()) return
    const instance = await store.get(note.id)
    if (!instance) return store.records.remove(key)
    if (!hasEnded(instance) || this.#isFresh(instance)) return
    const claimed = JSON.stringify({ ...note, claimedUntil: env.clock.now() + CLAIM_MS })
    if (!(await store.records.replace(key, value, claimed, note.endsAt))) return
    if (await this.#send(note, instance, send)) await store.records.remove(key)
  }

  #isFresh({ endedAt = 0 }: Instance): boolean {
    return endedAt + HOLD_MS > this.#parts.env.clock.now()
  }

  /** True if the note is done: the reply is sent, or it can never be. */
  async #send({ requestId, sessionId, place }: Note, instance: Instance, send: SendLateReply): Promise<boolean> {
    const { env } = this.#parts
    const { sessionId: _first, ...call } = instance
    const named = { ...call, requestId, ...(sessionId !== undefined && { sessionId }) }
    try {
      await send(place, replyTo(named, env.clock.now()), this.#stopping.signal)
      return true
    } catch (thrown) {
      const fault = Fault.from(thrown)
      if (fault.kind === 'unavailable') throw fault
      env.log.warn({ err: fault, requestId, operation: instance.operation }, 'could not send a reply that is owed')
      return !fault.retryable
    }
  }
}
