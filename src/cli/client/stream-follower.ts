/**
 * Follows a stream beyond one connection: it subscribes again before the stream or its credential expires, and goes on
 * after a connection that broke. OpenCALL, "Termination".
 */
import { Fault } from '../../core/fault.ts'
import { type FrameSink, readFrames, type StreamEnd } from './frames.ts'
import type { Answered, Envelope, Remote, StreamPlace } from './remote.ts'

/** Consecutive connections without a frame, before the command gives up. */
const MAX_BROKEN = 3
const AGAIN_MS = 200
/** No credential is used in its last second: the clocks may differ, and the connection takes time. */
const CREDENTIAL_LEFT_MS = 1_000
/** The new subscription is made this long before the end of the old one, or a tenth of its time if that is less. */
const MAX_LEAD_MS = 5_000
const MAX_TIMER_MS = 2 ** 31 - 1

/** A reply with a stream. */
export interface Streaming extends Envelope {
  stream: StreamPlace
}

export class StreamFollower {
  readonly #remote: Remote
  readonly #subscribe: () => Promise<Answered>
  readonly #show: (frame: string) => void
  #current: Streaming
  #broken = 0

  constructor(remote: Remote, first: Streaming, subscribe: () => Promise<Answered>, show: (frame: string) => void) {
    this.#remote = remote
    this.#current = first
    this.#subscribe = subscribe
    this.#show = show
  }

  /** The request id of the subscription that is read now. */
  get requestId(): string {
    return this.#current.requestId
  }

  /** Returns how the stream ended. */
  async run(): Promise<StreamEnd> {
    if (isStale(this.#current.stream)) await this.#resubscribe()
    let after: number | undefined
    for (;;) {
      const read = await this.#read(after)
      if (read.next) {
        await this.#unsubscribe(this.#current)
        this.#current = read.next
        after = undefined
        continue
      }
      if (read.end !== 'broken' && read.end !== 'refused') return read.end
      if (++this.#broken > MAX_BROKEN) throw broken()
      await this.#remote.wait(AGAIN_MS * this.#broken)
      after = read.end === 'broken' ? read.last : undefined
      if (after === undefined) await this.#resubscribe()
    }
  }

  /** Reads one connection. With `next`, the stream was about to expire and this is the new one. */
  async #read(
    after: number | undefined,
  ): Promise<{ end: StreamEnd | 'broken' | 'refused'; last?: number; next?: Streaming }> {
    const { requestId, stream } = this.#current
    let last = after
    const leaving = new AbortController()
    let renewing: Promise<Streaming | undefined> | undefined
    const renew = async () => {
      // The old stream is read to its end if there is no new one.
      const next = await this.#ask().catch(() => undefined)
      if (next) leaving.abort()
      return next
    }
    const timer =
      renewalMs(stream) === undefined ? undefined : setTimeout(() => (renewing = renew()), renewalMs(stream))
    const sink: FrameSink = {
      ...(after !== undefined && { after }),
      signal: leaving.signal,
      show: (frame, seq) => {
        this.#broken = 0
        last = seq ?? last
        this.#show(frame)
      },
    }
    try {
      const end = await readFrames(this.#remote, requestId, stream, sink)
      const next = await renewing
      return { end, ...(last !== undefined && { last }), ...(next && { next }) }
    } finally {
      clearTimeout(timer)
    }
  }

  async #resubscribe(): Promise<void> {
    this.#current = await this.#ask()
  }

  async #ask(): Promise<Streaming> {
    const { envelope } = await this.#subscribe()
    const { stream, error } = envelope
    if (stream) return { ...envelope, stream }
    throw new Fault('upstream', `The stream cannot be subscribed to again: ${error?.message ?? envelope.state}`, {
      code: error?.code ?? 'STREAM_REFUSED',
    })
  }

  async #unsubscribe({ requestId }: Streaming): Promise<void> {
    await this.#remote.leave({ op: 'v1:unsubscribeFromStream', args: { requestId } })
  }
}

/** Once: with a clock that is wrong, a new credential looks stale, too. */
function isStale({ auth }: StreamPlace): boolean {
  return auth?.expiresAt !== undefined && auth.expiresAt * 1000 - Date.now() < CREDENTIAL_LEFT_MS
}

/** `undefined` if the stream has no end, or has passed it by this clock. */
function renewalMs({ expiresAt }: StreamPlace): number | undefined {
  if (expiresAt === undefined) return undefined
  const leftMs = expiresAt * 1000 - Date.now()
  return leftMs > 0 ? Math.min(leftMs - Math.min(MAX_LEAD_MS, leftMs / 10), MAX_TIMER_MS) : undefined
}

function broken(): Fault {
  return new Fault('upstream', 'The connection broke before the stream ended. Call it again.', {
    code: 'STREAM_BROKEN',
  })
}
