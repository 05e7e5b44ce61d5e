/** The frames of one stream on a data channel. */
import type { RTCDataChannel } from 'werift'
import { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Peer } from './peer.ts'
import { Turn } from './turn.ts'

/**
 * The sender waits while more than this is in the buffer. The library looks at every waiting message whenever the reader
 * confirms some. With many small frames that costs far more than sending them.
 */
const HIGH_BYTES = 256 * 1024
const HIGH_FRAMES = 64
/** The part of it at which the sender goes on. */
const LOW_SHARE = 1 / 4
/** The reader has this long to read the last frames and to confirm the end. */
const END_MS = 10_000
/** Chromium loses the frames of a channel that closes before its page has seen it open. */
const MIN_OPEN_MS = 1_000

export interface DataFramesParts {
  peer: Peer
  channel: RTCDataChannel
  clock: Clock
  /** The message that tells the reader of the end. */
  encodeEnd(fault?: Fault): string
  /** The stream no longer uses the connection. */
  leave(): void
}

export class DataFrames implements FrameChannel {
  readonly #parts: DataFramesParts
  readonly #gone = new AbortController()
  readonly #turn = new Turn()
  #room: PromiseWithResolvers<void> | undefined
  readonly #openedAtMs: number
  #ended = false

  constructor(parts: DataFramesParts) {
    const { peer, channel, clock } = parts
    this.#openedAtMs = clock.monotonicMs()
    this.#parts = parts
    channel.bufferedAmountLow.subscribe(() => this.#makeRoom())
    channel.stateChange.subscribe((state) => state !== 'open' && !this.#ended && this.#lose())
    peer.signal.addEventListener('abort', this.#lose, { once: true })
    if (peer.signal.aborted) this.#lose()
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    const { channel, peer } = this.#parts
    const size = typeof frame === 'string' ? Buffer.byteLength(frame) : frame.length
    if (size > peer.maxFrameBytes) return this.#breakOff(tooLarge(size, peer.maxFrameBytes))
    channel.send(typeof frame === 'string' ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength))
    const high = Math.min(HIGH_BYTES, HIGH_FRAMES * size)
    if (channel.bufferedAmount > high) {
      channel.bufferedAmountLowThreshold = high * LOW_SHARE
      this.#room ??= Promise.withResolvers()
      return this.#room.promise
    }
    return this.#turn.take()
  }

  /** The channel closes after the last frame. The message about the end is on a channel that loses nothing. */
  end(fault?: Fault): void {
    const { channel } = this.#parts
    this.#ended = true
    void this.#finish()
    const tell = () => this.#parts.peer.tellEnd(this.#parts.encodeEnd(fault))
    if (channel.bufferedAmount === 0) tell()
    else {
      channel.bufferedAmountLowThreshold = 0
      channel.bufferedAmountLow.once(tell)
    }
  }

  /** Closes the channel, waits until the reader has confirmed it, and gives up the connection. */
  async #finish(): Promise<void> {
    const { channel, clock, peer, leave } = this.#parts
    const done = Promise.withResolvers<void>()
    const sinceMs = clock.monotonicMs() - this.#openedAtMs
    const cancels = [
      clock.schedule(END_MS, done.resolve),
      clock.schedule(Math.max(0, MIN_OPEN_MS - sinceMs), () => this.#closeAfterLast()),
    ]
    this.signal.addEventListener('abort', () => done.resolve(), { once: true })
    channel.stateChange.subscribe((state) => state === 'closed' && done.resolve())
    await done.promise
    for (const cancel of cancels) cancel()
    peer.signal.removeEventListener('abort', this.#lose)
    this.#makeRoom()
    leave()
  }

  #closeAfterLast(): void {
    const { channel } = this.#parts
    if (channel.bufferedAmount === 0) channel.close()
    else channel.bufferedAmountLow.once(() => channel.close())
  }

  /** The reader cannot go on with this channel. It may read the stream elsewhere. */
  #breakOff(fault: Fault): void {
    const { peer, channel, encodeEnd } = this.#parts
    peer.tellEnd(encodeEnd(fault))
    this.#lose()
    channel.close()
  }

  readonly #lose = (): void => {
    if (this.signal.aborted) return
    this.#parts.peer.signal.removeEventListener('abort', this.#lose)
    this.#gone.abort()
    this.#makeRoom()
    if (!this.#ended) this.#parts.leave()
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }
}

function tooLarge(size: number, maxBytes: number): Fault {
  const message = `A frame has ${size} bytes, and the reader takes ${maxBytes}. Read the stream over another transport.`
  return new Fault('unavailable', message, { code: 'FRAME_TOO_LARGE', retryable: false })
}
