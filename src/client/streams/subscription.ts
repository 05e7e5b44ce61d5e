/**
 * The frames of an operation beyond one connection: goes on after a lost one, and subscribes again before the stream
 * expires. OpenCALL, "Stream Subscription Lifecycle".
 */
import { type Calling, delayMs } from '../calling.ts'
import { CallFault } from '../fault.ts'
import { withCall } from '../judge.ts'
import type { CallOptions, Envelope, OutgoingCall, StreamPlace } from '../options.ts'
import type { Fetcher, Received } from '../transport.ts'
import { decodeFrame } from './decode.ts'
import { FrameQueue } from './queue.ts'
import type { RawFrame, ReaderEnd } from './reader.ts'
import type { StreamWay, StreamWays } from './ways.ts'

const MAX_BROKEN = 8
/** The new subscription is made this long before the end of the old one, or a tenth of its time if that is less. */
const MAX_LEAD_MS = 5_000
/** No key is used in its last second: clocks differ, and connecting takes time. */
const KEY_LEFT_MS = 1_000
const ANSWER_MS = 2_000

interface Subscribed {
  readonly requestId: string
  readonly place: StreamPlace
  readonly way: StreamWay
}

/** `renewed`: a new subscription takes over. */
type ConnectionEnd = ReaderEnd | { readonly state: 'renewed' }

export interface SubscriptionSettings {
  /** The response to a call that was sent already. */
  first?: Received
  /** Consecutive connections without a frame, before the client gives up (default: 8). */
  maxBroken?: number
}

export class Subscription<Frame> implements AsyncIterable<Frame> {
  readonly #calling: Calling
  readonly #fetcher: Fetcher
  readonly #outgoing: OutgoingCall
  readonly #options: CallOptions
  readonly #ways: StreamWays
  readonly #maxBroken: number
  readonly #closing = new AbortController()
  #sent: Received | undefined
  #current: Subscribed | undefined
  /** The number of the last frame, if frames have numbers. */
  #last: number | undefined
  /** How many frames arrived. */
  #received = 0
  #isFirst = true

  constructor(
    calling: Calling,
    fetcher: Fetcher,
    outgoing: OutgoingCall,
    options: CallOptions,
    ways: StreamWays,
    { first, maxBroken = MAX_BROKEN }: SubscriptionSettings = {},
  ) {
    this.#calling = calling
    this.#fetcher = fetcher
    this.#outgoing = outgoing
    this.#options = options
    this.#ways = ways
    this.#sent = first
    this.#maxBroken = maxBroken
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    const own = this.#closing.signal
    const { signal = own } = this.#options
    const limit = this.#calling.limit({ ...this.#options, signal: AbortSignal.any([signal, own]) })
    try {
      yield* this.#frames(limit.signal as AbortSignal)
    } catch (thrown) {
      if (!own.aborted) throw withCall(thrown, this.#outgoing)
    } finally {
      limit.end()
      await this.#leave(this.#current)
    }
  }

  /** Ends the loop over the frames, and the subscription. */
  close(): void {
    this.#closing.abort()
  }

  async *#frames(signal: AbortSignal): AsyncGenerator<Frame, void> {
    for (let broken = 0; ; broken++) {
      this.#current ??= await this.#subscribe(signal)
      const before = this.#received
      const end = yield* this.#connection(this.#current, signal)
      if (end.state === 'complete' || end.state === 'error') {
        const { requestId, way } = this.#current
        way.close?.()
        this.#current = undefined
        if (end.state === 'complete') return
        // A close code without a reason does not say why.
        const { error = end.error } = end.error?.message
          ? end
          : (await this.#calling.transport.poll(requestId, signal)).envelope
        throw streamFault(error)
      }
      if (end.state === 'renewed' || this.#received !== before) broken = 0
      if (end.state === 'renewed') continue
      if (broken >= this.#maxBroken)
        throw new CallFault('STREAM_BROKEN', 'The connection broke before the stream ended. Subscribe again.')
      await this.#calling.pause(delayMs(broken), signal)
      // Without numbers nothing can be resumed, and a reader that is refused cannot come back.
      if (end.refused || this.#last === undefined) {
        if (await this.#isComplete(this.#current, signal)) return
        await this.#leave(this.#current)
        this.#current = undefined
        this.#last = undefined
      }
    }
  }

  async *#connection(current: Subscribed, signal: AbortSignal): AsyncGenerator<Frame, ConnectionEnd> {
    const queue = new FrameQueue<RawFrame>()
    const leaving = new AbortController()
    let next: Subscribed | undefined
    const cancelRenewal = this.#renewBefore(current.place, async () => {
      // Without a new stream, the old one is read to its end.
      next = await this.#subscribe(signal).catch(() => undefined)
      if (next) leaving.abort()
    })
    const end = this.#read(current, queue, AbortSignal.any([signal, leaving.signal]))
    try {
      for await (const raw of queue.read()) {
        const { value, seq } = await decodeFrame(raw, current.place)
        this.#last = seq ?? this.#last
        this.#received++
        yield value as Frame
      }
      return await end
    } catch (thrown) {
      if (!next || signal.aborted) throw thrown
      await this.#leave(current)
      this.#current = next
      this.#last = undefined
      return { state: 'renewed' }
    } finally {
      cancelRenewal()
      leaving.abort()
      if (this.#current !== next) await this.#leave(next)
    }
  }

  async #read({ place, way }: Subscribed, queue: FrameQueue<RawFrame>, signal: AbortSignal): Promise<ReaderEnd> {
    try {
      const end = await way.read(this.#fetcher, {
        place,
        after: this.#last,
        signal,
        push: (frame) => queue.push(frame),
      })
      queue.end()
      return end
    } catch (thrown) {
      queue.end(thrown)
      return { state: 'broken' }
    }
  }

  async #subscribe(signal: AbortSignal): Promise<Subscribed> {
    const { operation, args } = this.#outgoing
    for await (const way of this.#ways(this.#options.sessionId)) {
      try {
        for (let tries = 0; ; tries++) {
          const call = this.#calling.outgoing(operation, { ...args, ...way.wish }, this.#optionsOf(way))
          const { envelope } = this.#sent ?? (await this.#calling.send(call, signal))
          this.#sent = undefined
          const { stream: place, requestId } = envelope
          if (!place) throw notAStream(operation, envelope)
          const isStale = place.auth?.expiresAt !== undefined && place.auth.expiresAt * 1000 - Date.now() < KEY_LEFT_MS
          // Once: with a clock that is wrong, a new key looks old, too.
          if (!isStale || tries > 0) return { requestId, place, way }
        }
      } catch (thrown) {
        way.close?.()
        if (!(thrown instanceof CallFault) || thrown.code !== 'UNSUPPORTED_TRANSPORT') throw thrown
      }
    }
    throw new CallFault('STREAM_REFUSED', `${operation} has no transport that this client can read.`)
  }

  /** Every subscription is a call of its own. Only the first one has the ids that the caller chose. */
  #optionsOf({ sessionId = this.#options.sessionId }: StreamWay): CallOptions {
    const { requestId, idempotencyKey, ...rest } = this.#options
    const given = this.#isFirst ? this.#options : rest
    this.#isFirst = false
    return sessionId === undefined ? given : { ...given, sessionId }
  }

  #renewBefore({ expiresAt }: StreamPlace, renew: () => void): () => void {
    const leftMs = (expiresAt ?? 0) * 1000 - Date.now()
    if (leftMs <= 0) return () => {}
    return this.#calling.schedule(leftMs - Math.min(MAX_LEAD_MS, leftMs / 10), renew)
  }

  /** True if the stream ended while there was no connection. */
  async #isComplete({ requestId }: Subscribed, signal: AbortSignal): Promise<boolean> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const polled = await this.#calling.transport.poll(requestId, limited).catch(() => undefined)
    return polled?.envelope.state === 'complete'
  }

  /** The response does not matter: a stream without a reader ends by itself. */
  async #leave(left: Subscribed | undefined): Promise<void> {
    if (!left) return
    left.way.close?.()
    const call = this.#calling.outgoing('v1:unsubscribeFromStream', { requestId: left.requestId })
    await this.#calling.transport.send(call, AbortSignal.timeout(ANSWER_MS)).catch(() => {})
  }
}

function notAStream(operation: string, { state }: Envelope): CallFault {
  return new CallFault('NOT_A_STREAM', `${operation} is not a stream: its call is ${state}. Wait for its result.`)
}

function streamFault(error: Envelope['error']): CallFault {
  return new CallFault(error?.code ?? 'STREAM_BROKEN', error?.message ?? 'The stream failed.', {
    outcome: 'failed',
    details: error?.cause,
  })
}
