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

export interface Pace {
  /** How many milliseconds the stream waits after a frame of this size. */
  afterMs(bytes: number): number
  /** The stream has ended. Call it once. */
  leave(): void
}

interface Rate {
  /** Until when the caller has used up its rate, on the monotonic clock. */
  usedUntil: number
  streams: number
}

const UNLIMITED: Pace = { afterMs: () => 0, leave: () => {} }

/** A caller may send this much ahead of its rate. */
const BURST_MS = 1_000

export class StreamLimits {
  readonly #rules: LimitRules
  readonly #clock: Clock
  readonly #open = new Map<string, number>()
  /** The rate of each caller with running streams, or with a rate that is used up. */
  readonly #rates = new Map<string, Rate>()

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
      this.#add(ofOperation, -1)
    }
  }

  /** The pace of one stream that runs on this node. All streams of a caller share its rate. */
  pace(who: StreamOwner): Pace {
    const { framesPerSecond, frameBytesPerSecond } = this.#rules
    if (framesPerSecond + frameBytesPerSecond === 0) return UNLIMITED
    const key = callerKey(who)
    const frameMs = framesPerSecond > 0 ? 1000 / framesPerSecond : 0
    const byteMs = frameBytesPerSecond > 0 ? 1000 / frameBytesPerSecond : 0
    const rate = this.#rates.get(key) ?? { usedUntil: 0, streams: 0 }
    rate.streams++
    this.#rates.set(key, rate)
    return {
      afterMs: (bytes) => {
        const now = this.#clock.monotonicMs()
        rate.usedUntil = Math.max(now, rate.usedUntil) + Math.max(frameMs, bytes * byteMs)
        return Math.max(0, rate.usedUntil - now - BURST_MS)
      },
      leave: () => {
        rate.streams--
        this.#forget(key, rate)
      },
    }
  }

  /** A rate that is used up is kept: a caller must not get a new one by opening its stream again. */
  #forget(key: string, rate: Rate): void {
    if (rate.streams > 0) return
    const usedMs = rate.usedUntil - this.#clock.monotonicMs()
    if (usedMs <= 0) this.#rates.delete(key)
    else this.#clock.schedule(usedMs, () => this.#forget(key, rate))
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
