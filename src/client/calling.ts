/**
 * One call from its first request to its end: repeats what is safe to repeat, waits as the server asks, and checks that
 * what the server says is possible.
 */
import type { JsonObject } from '../core/json.ts'
import { CallFault, type Outcome } from './fault.ts'
import { newId } from './ids.ts'
import type { CallContext, CallOptions, ClientOptions, Envelope, Middleware, OutgoingCall } from './options.ts'
import { type Clock, createLimit, type Limit } from './time.ts'
import { traceparent } from './traceparent.ts'
import type { Received, Transport } from './transport.ts'

/** A call that ended well. */
export interface Ended {
  readonly envelope: Envelope
  /** The result itself, if a redirect to it was followed already. */
  readonly bytes?: Response
}

const RETRIES = 3
const NO_LAYERS: readonly Middleware[] = []
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
const POLL_AGAIN_MS = 250
/** How long a server may be away while a call is followed. */
const LOST_POLLS = 20
/** How often a part of a result is asked for again. */
const LOST_READS = 8
/** Clocks differ. A call is given up this long after its retention. */
const EXPIRY_LEEWAY_MS = 300_000

/** Statuses of a refusal that another attempt may not get. Without an envelope, a proxy answers in the server's place. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

const RANKS: Readonly<Record<string, number>> = { accepted: 0, pending: 1, streaming: 2, complete: 3, error: 3 }

/** What is known of a call: all of it, or the id of a resumed one. */
interface Known {
  readonly operation: string
  readonly context: Partial<CallContext>
}

export type CallingOptions = Pick<ClientOptions, 'retries' | 'timeoutMs' | 'use'>

export class Calling {
  readonly transport: Transport
  readonly #options: CallingOptions
  readonly #clock: Clock

  constructor(transport: Transport, options: CallingOptions, clock: Clock) {
    this.transport = transport
    this.#options = options
    this.#clock = clock
  }

  limit({ signal, timeoutMs = this.#options.timeoutMs }: Pick<CallOptions, 'signal' | 'timeoutMs'> = {}): Limit {
    return createLimit(signal, timeoutMs, this.#clock)
  }

  outgoing(operation: string, args: JsonObject = {}, options: CallOptions = {}): OutgoingCall {
    const { requestId = newId(), idempotencyKey = newId(), sessionId, parentId, locale, media, onUpload } = options
    const trace = options.traceparent ?? traceparent()
    const context: CallContext = { requestId, idempotencyKey }
    if (sessionId !== undefined) context.sessionId = sessionId
    if (parentId !== undefined) context.parentId = parentId
    if (locale !== undefined) context.locale = locale
    if (trace !== undefined) context.traceparent = trace
    return { operation, args, context, headers: {}, ...(media && { media }), ...(onUpload && { onUpload }) }
  }

  /** Sends the call, and returns the first response that is no refusal. */
  async send(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Received> {
    let received: Received | undefined
    const first = async (sent: OutgoingCall) => {
      received = await this.#sendAgain(sent, signal)
      return received.envelope
    }
    const wrapped = (this.#options.use ?? NO_LAYERS).reduceRight<typeof first>(
      (next, layer) => (sent) => layer(sent, next),
      first,
    )
    const envelope = await wrapped(call)
    const last: Received = received && received.envelope === envelope ? received : { envelope }
    if (envelope.state === 'error') throw faultOf(last, call)
    if (envelope.requestId !== call.context.requestId) throw wrongReply(call, envelope)
    return last
  }

  /** Follows a call that was sent until it ends, and returns its outcome. Throws the fault it ended with. */
  async finish(
    first: Received,
    call: Known,
    signal: AbortSignal | undefined,
    onChange?: (now: Envelope) => void,
  ): Promise<Ended> {
    let now = first
    for (;;) {
      onChange?.(now.envelope)
      if (now.envelope.state === 'complete') return now
      now = await this.next(now, call, signal)
    }
  }

  /** Every state of a call until it ends: as the server pushes them where it can, else by polls. */
  async *changes(first: Received, signal: AbortSignal | undefined): AsyncIterable<Envelope> {
    let now = first
    const watched = this.transport.watch?.(now.envelope.requestId, signal)
    if (watched && !isOver(now.envelope)) {
      for await (const envelope of watched) {
        yield envelope
        now = { envelope }
      }
    }
    while (!isOver(now.envelope)) {
      now = await this.#following(now, signal)
      yield now.envelope
    }
  }

  /** The next state of a call that has not ended. A lost connection does not end it. */
  async next(before: Received, call: Known, signal: AbortSignal | undefined): Promise<Received> {
    const received = await this.#following(before, signal)
    const fault = problemOf(before.envelope, received, call, this.#clock.now())
    if (fault) throw fault
    return received
  }

  async #following({ envelope, retryAfterMs }: Received, signal: AbortSignal | undefined): Promise<Received> {
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
      if (received.envelope.state !== 'error' || !TRY_AGAIN.has(received.status ?? 0) || losses >= LOST_POLLS)
        return received
      await this.#clock.wait(received.retryAfterMs ?? 0, signal)
      return undefined
    } catch (thrown) {
      if (isLost(thrown) && losses < LOST_POLLS) return undefined
      throw thrown
    }
  }

  /** Repeats a read after a lost connection. */
  async persist<T>(read: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let losses = 0; ; losses++) {
      try {
        return await read()
      } catch (thrown) {
        if (losses >= LOST_READS || !isLost(thrown)) throw thrown
        await this.#clock.wait(delayMs(losses), signal)
      }
    }
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
        const { envelope, status, retryAfterMs } = received
        if (isLast || envelope.state !== 'error' || !TRY_AGAIN.has(status ?? 0)) return received
        await this.#clock.wait(retryAfterMs ?? delayMs(attempt), signal)
      } catch (thrown) {
        if (isLast || !isLost(thrown)) throw thrown
        await this.#clock.wait(delayMs(attempt), signal)
      }
    }
  }
}

function isOver({ state }: Envelope): boolean {
  return RANKS[state] === 3
}

/** The network failed, or a proxy answered that it cannot reach the server. */
function isLost(thrown: unknown): boolean {
  return (
    thrown instanceof CallFault &&
    (thrown.code === 'UNREACHABLE' || (thrown.code === 'NOT_OPENCALL' && TRY_AGAIN.has(thrown.status ?? 0)))
  )
}

/** With jitter, so that many clients do not come back at once. */
function delayMs(attempt: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
}

/** Adds the call to a fault of the transport or of a deadline, which do not know it. */
export function withCall(thrown: unknown, { operation, context }: Known): unknown {
  if (!(thrown instanceof CallFault) || thrown.requestId !== undefined) return thrown
  const { message, code, outcome, status, cause } = thrown
  return new CallFault(message, {
    code,
    outcome,
    operation,
    ...context,
    cause,
    ...(status !== undefined && { status }),
  })
}

/** The fault that a later response is, or why it cannot be true. */
function problemOf(before: Envelope, received: Received, call: Known, nowMs: number): CallFault | undefined {
  const { envelope } = received
  const { state, requestId } = envelope
  const facts = { outcome: 'unknown', operation: call.operation, requestId: before.requestId } as const
  if (state === 'error') return pollFaultOf(received, call)
  if (requestId !== before.requestId)
    return new CallFault(`The server sent the state of call ${requestId} for ${before.requestId}.`, {
      ...facts,
      code: 'WRONG_REPLY',
    })
  const rank = RANKS[state]
  if (rank === undefined && !envelope.location)
    return new CallFault(`The call is in the state "${state}", which this client does not know. Update it.`, {
      ...facts,
      code: 'UNKNOWN_STATE',
    })
  if (rank !== undefined && rank < (RANKS[before.state] ?? 0))
    return new CallFault(
      `The server said "${before.state}" and then "${state}". The state of a call only moves forward.`,
      { ...facts, code: 'STATE_WENT_BACK' },
    )
  if (rank !== 3 && envelope.expiresAt && envelope.expiresAt * 1000 + EXPIRY_LEEWAY_MS < nowMs)
    return new CallFault('The call is past the end of its retention and has not ended.', { ...facts, code: 'EXPIRED' })
  return undefined
}

/** The fault of an envelope with the state `error`, in response to the call itself. */
export function faultOf(received: Received, call: Known): CallFault {
  const { status = 200 } = received
  return toFault(received, call, (status >= 400 && status < 500) || status === 503 ? 'refused' : 'failed')
}

/** The same in response to a poll: a status of 4xx or 5xx refuses the poll, and says nothing of the call. */
function pollFaultOf(received: Received, call: Known): CallFault {
  return toFault(received, call, (received.status ?? 200) >= 400 ? 'unknown' : 'failed')
}

function toFault(
  { envelope, status, retryAfterMs }: Received,
  { operation, context }: Known,
  outcome: Outcome,
): CallFault {
  const { code = 'UNKNOWN', message = 'The server gave no reason.', cause: details } = envelope.error ?? {}
  return new CallFault(message, {
    code,
    outcome: code === 'OUTCOME_UNKNOWN' ? 'unknown' : outcome,
    operation,
    ...context,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(details && { details }),
  })
}

function wrongReply({ operation, context }: OutgoingCall, { requestId }: Envelope): CallFault {
  return new CallFault(`The server answered call ${requestId} instead of ${context.requestId}.`, {
    code: 'WRONG_REPLY',
    outcome: 'unknown',
    operation,
    ...context,
  })
}
