/**
 * One call from its first request to its end: repeats what is safe to repeat, waits as the server asks, and checks that
 * what the server says is possible.
 */
import type { JsonObject } from '../core/json.ts'
import { CallFault } from './fault.ts'
import { newId } from './ids.ts'
import { asksToComeBack, faultOf, isLost, type Known, problemOf, withCall, wrongReply } from './judge.ts'
import type { CallOptions, ClientOptions, Envelope, OutgoingCall } from './options.ts'
import { type Clock, createLimit, type Limit } from './time.ts'
import type { Received, Transport } from './transport.ts'

/** A call that ended well. */
export interface Ended {
  readonly envelope: Envelope
}

const RETRIES = 3
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
const POLL_AGAIN_MS = 250
/** How long a server may be away while a call is followed. */
const LOST_POLLS = 20

export type CallingOptions = Pick<ClientOptions, 'retries' | 'timeoutMs' | 'use'>

/** What the full client adds. */
export interface CallingExtras {
  /** Sees every first response. */
  observe?(call: OutgoingCall, received: Received): void
  /** The trace that a call belongs to. */
  trace?(): string | undefined
}

export class Calling {
  readonly transport: Transport
  readonly #options: CallingOptions
  readonly #extras: CallingExtras
  readonly #clock: Clock

  constructor(transport: Transport, options: CallingOptions, clock: Clock, extras: CallingExtras) {
    this.transport = transport
    this.#options = options
    this.#clock = clock
    this.#extras = extras
  }

  limit({ signal, timeoutMs = this.#options.timeoutMs }: Pick<CallOptions, 'signal' | 'timeoutMs'> = {}): Limit {
    return createLimit([signal, this.transport.closing], timeoutMs, this.#clock)
  }

  /** Acts within the limits of a call, and adds the call to its faults. */
  async within<T>(
    options: Pick<CallOptions, 'signal' | 'timeoutMs'> | undefined,
    known: Known,
    act: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const limit = this.limit(options)
    try {
      return await act(limit.signal)
    } catch (thrown) {
      throw withCall(thrown, known)
    } finally {
      limit.end()
    }
  }

  outgoing(operation: string, args: JsonObject = {}, options: CallOptions = {}): OutgoingCall {
    const { requestId = newId(), idempotencyKey = newId(), sessionId, parentId, locale, media, onUpload } = options
    const trace = options.traceparent ?? this.#extras.trace?.()
    const context = { requestId, idempotencyKey, sessionId, parentId, locale, traceparent: trace }
    return { operation, args, context, headers: {}, media, onUpload }
  }

  /** Sends the call, and returns the first response that is no refusal. */
  async send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    let received: Received | undefined
    const first = async (sent: OutgoingCall) => {
      received = await this.#sendAgain(sent, signal)
      this.#extras.observe?.(sent, received)
      return received.envelope
    }
    const { use } = this.#options
    const wrapped = use ? use.reduceRight<typeof first>((next, layer) => (sent) => layer(sent, next), first) : first
    const envelope = await wrapped(call)
    const last: Received = received && received.envelope === envelope ? received : { envelope }
    if (envelope.state === 'error') throw faultOf(last)
    if (envelope.requestId !== call.context.requestId) throw wrongReply(call.context.requestId, envelope)
    return last
  }

  /** Follows a call that was sent until it ends, and returns its outcome. Throws the fault it ended with. */
  async finish(first: Received, signal: AbortSignal | undefined, onChange?: (now: Received) => void): Promise<Ended> {
    let now = first
    for (;;) {
      onChange?.(now)
      const { state } = now.envelope
      if (state === 'complete') return now
      if (state === 'streaming') throw new CallFault('IS_A_STREAM', 'Use "for await".')
      now = await this.next(now, signal)
    }
  }

  /** The next state of a call that has not ended. A lost connection does not end it. */
  async next(before: Received, signal: AbortSignal | undefined): Promise<Received> {
    const received = await this.following(before, signal)
    const fault = problemOf(before.envelope, received, this.#clock.now())
    if (fault) throw fault
    return received
  }

  /** The same without a judgement on what it says. */
  async following({ envelope, retryAfterMs }: Received, signal: AbortSignal | undefined): Promise<Received> {
    await this.#clock.wait(retryAfterMs ?? envelope.retryAfterMs ?? POLL_AGAIN_MS, signal)
    for (let losses = 0; ; losses++) {
      const received = await this.#nextOnce(envelope, signal, losses)
      if (received) return received
      await this.#clock.wait(delayMs(losses), signal)
    }
  }

  /** `undefined` if the server could not be reached, or asked to come back later. */
  async #nextOnce(envelope: Envelope, signal: AbortSignal | undefined, losses: number): Promise<Received | undefined> {
    try {
      const received = await this.transport.next(envelope, signal)
      if (!asksToComeBack(received) || losses >= LOST_POLLS) return received
      await this.#clock.wait(received.retryAfterMs ?? 0, signal)
      return undefined
    } catch (thrown) {
      if (isLost(thrown) && losses < LOST_POLLS) return undefined
      throw thrown
    }
  }

  schedule(ms: number, act: () => void): () => void {
    return this.#clock.schedule(ms, act)
  }

  /** Waits as long as a server asked for. */
  pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return this.#clock.wait(ms, signal)
  }

  /** The ids stay the same, so the server runs the call once however often it arrives. */
  async #sendAgain(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    const retries = this.#options.retries ?? RETRIES
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= retries
      try {
        const received = await this.transport.send(call, signal)
        if (isLast || !asksToComeBack(received)) return received
        await this.#clock.wait(received.retryAfterMs ?? delayMs(attempt), signal)
      } catch (thrown) {
        if (isLast || !isLost(thrown)) throw thrown
        await this.#clock.wait(delayMs(attempt), signal)
      }
    }
  }
}

/** With jitter, so that many clients do not come back at once. */
export function delayMs(attempt: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
}
