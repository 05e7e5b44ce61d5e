/** Limits of streams: how many a caller may have open on this node, and how fast they may send. */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { LimitRules } from './limit-rules.ts'

/** Who opens a stream. */
export interface StreamOwner {
  tenant: string
  owner: string
}

/** A caller may send this much ahead of its rate. */
const BURST_MS = 1_000

export class StreamLimits {
  readonly #rules: LimitRules
  readonly #clock: Clock
  readonly #open = new Map<string, number>()
  /** Until when each caller has used up its rate, on the monotonic clock. */
  readonly #usedUntil = new Map<string, number>()

  constructor(rules: LimitRules, clock: Clock) {
    this.#rules = rules
    this.#clock = clock
  }

  /** Counts one more stream, or throws a fault if there is no room for it. The returned function gives the room back. */
  enter(who: StreamOwner, { key, concurrency, name }: Operation): () => void {
    const { streamsPerCaller } = this.#rules
    const ofCaller = callerKey(who)
    const ofOperation = `operation ${key}`
    if (this.#count(ofCaller) >= streamsPerCaller) {
      const message = `You have ${streamsPerCaller} open streams. Unsubscribe from some of them first.`
      throw new Fault('overloaded', message, { code: 'TOO_MANY_STREAMS', retryAfterMs: 1_000 })
    }
    if (concurrency !== undefined && this.#count(ofOperation) >= concurrency) {
      const message = `${name.full} has as many streams as it may have at once. Try again in a moment.`
      throw new Fault('overloaded', message, { code: 'BUSY', retryAfterMs: 1_000 })
    }
    this.#add(ofCaller, 1)
    this.#add(ofOperation, 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#add(ofCaller, -1)
      if (this.#count(ofCaller) === 0) this.#usedUntil.delete(ofCaller)
      this.#add(ofOperation, -1)
    }
  }

  /** Returns how many milliseconds a stream of this caller waits after a frame of this size. */
  pace(who: StreamOwner): (bytes: number) => number {
    const { framesPerSecond, frameBytesPerSecond } = this.#rules
    if (framesPerSecond + frameBytesPerSecond === 0) return () => 0
    const key = callerKey(who)
    const frameMs = framesPerSecond > 0 ? 1000 / framesPerSecond : 0
    const byteMs = frameBytesPerSecond > 0 ? 1000 / frameBytesPerSecond : 0
    return (bytes) => {
      const now = this.#clock.monotonicMs()
      const until = Math.max(now, this.#usedUntil.get(key) ?? 0) + Math.max(frameMs, bytes * byteMs)
      this.#usedUntil.set(key, until)
      return Math.max(0, until - now - BURST_MS)
    }
  }

  #count(key: string): number {
    return this.#open.get(key) ?? 0
  }

  #add(key: string, change: number): void {
    const now = this.#count(key) + change
    if (now > 0) this.#open.set(key, now)
    else this.#open.delete(key)
  }
}

function callerKey({ tenant, owner }: StreamOwner): string {
  return `caller ${JSON.stringify([tenant, owner])}`
}
